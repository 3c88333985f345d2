// Package private runs a server on data that no member has yet, for this process alone.
package private

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Server is a server on no address.
type Server struct {
	// Programs holds the programs of the server, Data its data. Sockets is a directory with a short path, which gets
	// its files of configuration too.
	Programs, Data, Sockets string
	// Libraries holds libraries that the system lacks; "" for none.
	Libraries string
	// Open lets clients in that reach Sockets. Without it nobody gets in.
	Open bool
	// Options are those of each session of its client programs.
	Options string
	// Settings come on top of those that this package makes.
	Settings [][2]string
	// Log, if set, gets a line once the server has recovered the data by its log: how long that took.
	Log io.Writer
	// Prepare, if set, changes a command before it runs.
	Prepare func(*exec.Cmd)
}

// said is how much of the server's words an error holds.
const said = 10

// Configure writes the files of configuration, and returns the settings that name them.
func (s Server) Configure() ([][2]string, error) {
	hba := "local all all reject\n"
	if s.Open {
		hba = "local all all trust\n"
	}
	conf, access := filepath.Join(s.Sockets, "postgresql.conf"), filepath.Join(s.Sockets, "pg_hba.conf")
	for path, content := range map[string]string{conf: "", access: hba} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return nil, fmt.Errorf("configure a private server: %w", err)
		}
	}
	return [][2]string{{"config_file", conf}, {"hba_file", access}, {"ident_file", os.DevNull}}, nil
}

// Run starts the server, does the work once it is recovered, and stops it in order. Nil is no work.
func (s Server) Run(ctx context.Context, work func(context.Context) error) error {
	files, err := s.Configure()
	if err != nil {
		return err
	}
	args := []string{"-D", s.Data}
	for _, all := range [][][2]string{files, {
		{"listen_addresses", ""}, {"unix_socket_directories", s.Sockets}, {"logging_collector", "off"},
		{"log_destination", "stderr"}, {"lc_messages", "C"}, {"archive_mode", "off"}, {"hot_standby", "off"},
		{"wal_level", "replica"}, {"wal_log_hints", "on"}, {"max_wal_senders", "0"}, {"synchronous_standby_names", ""},
		{"ssl", "off"}, {"autovacuum", "off"},
	}, s.Settings} {
		for _, one := range all {
			args = append(args, "-c", one[0]+"="+one[1])
		}
	}
	cmd := s.Command(ctx, "postgres", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	out, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	done := make(chan error, 1)
	ready, words := s.follow(out, func() {
		go func() {
			var err error
			if work != nil {
				err = work(ctx)
			}
			done <- err
			_ = cmd.Process.Signal(syscall.SIGINT)
		}()
	})
	err = cmd.Wait()
	if err == nil && !ready {
		err = errors.New("it ended")
	}
	if err != nil {
		err = fmt.Errorf("the server did not recover and stop: %w: %s", err, strings.Join(words, "; "))
	}
	if ready {
		err = errors.Join(<-done, err)
	}
	return err
}

// follow reads what the server says to its end, and calls then once it takes clients: then it is recovered.
func (s Server) follow(out io.Reader, then func()) (ready bool, words []string) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words = append(words, lines.Text())
		words = words[max(0, len(words)-said):]
		if s.Log != nil && strings.Contains(lines.Text(), "redo done at") {
			_, _ = fmt.Fprintln(s.Log, lines.Text())
		}
		if !ready && strings.Contains(lines.Text(), "database system is ready to accept connections") {
			ready = true
			then()
		}
	}
	return ready, words
}

// Command is one of the programs of the server.
func (s Server) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.Programs, program), args...) //nolint:gosec // the image's program
	cmd.Env, cmd.WaitDelay = append(os.Environ(), "LC_ALL=C.UTF-8"), 10*time.Second
	if s.Libraries != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+s.Libraries)
	}
	if s.Options != "" {
		cmd.Env = append(cmd.Env, "PGOPTIONS="+s.Options)
	}
	if s.Prepare != nil {
		s.Prepare(cmd)
	}
	return cmd
}
