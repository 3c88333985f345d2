//go:build linux

package valkey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

const (
	// trialTime bounds the start of a server that holds nothing, trialPoll is how often it is asked.
	trialTime = 5 * time.Second
	trialPoll = 10 * time.Millisecond
)

// try starts the server's program with settings of people alone, without data and ports, until it would take clients. A
// Refused says what the program does not like.
func (s *Server) try(ctx context.Context, values []setting) error {
	return s.trial(ctx, values, func(context.Context, *session.Session) error { return nil })
}

// trial does the same, and has such a server asked before it ends.
func (s *Server) trial(ctx context.Context, values []setting,
	ask func(context.Context, *session.Session) error,
) error {
	dir, err := os.MkdirTemp(s.Sockets, "check")
	if err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty, and in memory
	socket := filepath.Join(dir, "s")
	var conf strings.Builder
	for _, v := range append(values, setting{"port", "0"}, setting{"unixsocket", socket}, setting{"dir", dir},
		setting{"save", ""}, setting{"appendonly", "no"}, setting{"daemonize", "no"}, setting{"logfile", ""}) {
		fmt.Fprintf(&conf, "%s %s\n", v.name, quote(v.value))
	}
	file := filepath.Join(dir, "conf")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, trialTime)
	defer stop()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, s.Program, file) //nolint:gosec // the program is ours
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if conn, err := net.Dial("unix", socket); err == nil {
			err = ask(ctx, session.On(conn))
			_ = conn.Close() // it was of use
			stop()
			<-ended //nolint:errcheck // it was stopped
			return err
		}
		select {
		case err := <-ended:
			exit, ran := errors.AsType[*exec.ExitError](err)
			if ctx.Err() == nil && ran && exit.Exited() {
				return api.Refused{Why: "the server refuses the settings: " + reason(out.String())}
			}
			return fmt.Errorf("check settings: the server ended: %w", errors.Join(err, ctx.Err()))
		case <-time.After(trialPoll):
		}
	}
}

// reason is what a server said of a file of settings: the line that it names, and what follows, or its last words.
func reason(out string) string {
	out = strings.TrimSpace(out)
	if _, said, found := strings.Cut(out, ">>> "); found {
		return strings.ReplaceAll(said, "\n", ": ")
	}
	last := out[strings.LastIndexByte(out, '\n')+1:]
	if _, said, found := strings.Cut(last, " # "); found {
		return said
	}
	return last
}
