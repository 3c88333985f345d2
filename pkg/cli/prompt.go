package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// question is asked before something is lost.
type question struct {
	// what is about to happen, as a sentence without a full stop.
	what string
	// lost lists what will be gone, one line each.
	lost []string
	// kept lists what there is to go back to.
	kept []string
	// stays lists what this does not bring back.
	stays []string
	// typed is the word to type back for a loss that nothing brings back; "" asks for y or n.
	typed string
	// flag is what to say on the command line instead of an answer; --yes if not set.
	flag string
	// noData: no database is at stake, so that backups are of no interest.
	noData bool
	// cluster tells the newest backup; may be nil.
	cluster *v1alpha1.DatabaseCluster
}

// errDeclined: nothing happened, and the shell must see that.
var errDeclined = errors.New("not confirmed, nothing was changed")

// confirm asks on stderr and reads one line. Without a terminal it does not
// wait for an answer that nobody gives.
func (f *Factory) confirm(ctx context.Context, in intent, q question) error {
	if !f.Streams.InTTY {
		return &usageError{text: "this needs a confirmation, and there is no terminal to ask on",
			hint: "repeat with " + cmp.Or(q.flag, "--yes") + "; to see the plan first: --dry-run=client"}
	}
	p := f.errPalette()
	f.note("%s", p.bold(q.what))
	f.note("  context:       %s", f.contextName())
	f.note("  namespace:     %s", in.namespace)
	for _, l := range q.lost {
		f.note("  %s %s", p.red("lost:         "), l)
	}
	for _, k := range q.kept {
		f.note("  kept:          %s", k)
	}
	for _, k := range q.stays {
		f.note("  not restored:  %s", k)
	}
	if !q.noData {
		f.note("  newest backup: %s", f.newestBackup(q.cluster))
	}
	want := "y"
	if q.typed != "" {
		want = q.typed
		fmt.Fprintf(f.Streams.Err, "Type %q to go on: ", q.typed)
	} else {
		fmt.Fprint(f.Streams.Err, "Go on? [y/N]: ")
	}
	answer, err := readLine(ctx, f.Streams.In)
	if err != nil {
		return err
	}
	if q.typed == "" {
		answer = strings.TrimSuffix(strings.ToLower(answer), "es")
	}
	if answer != want {
		return errDeclined
	}
	return nil
}

// newestBackup says what there is to go back to.
func (f *Factory) newestBackup(c *v1alpha1.DatabaseCluster) string {
	if c == nil || c.Status.LastBackup == nil {
		return "none known"
	}
	b := c.Status.LastBackup
	text := fmt.Sprintf("%s, %s old, in %s", b.ID, f.age(b.Time.Time), b.Repository)
	if v := c.Status.LastVerifiedBackup; v != nil && v.ID == b.ID {
		text += ", verified"
	}
	return text
}

// readLine gives up when the context ends; the reader stays behind until the
// process does, because a terminal can't be interrupted otherwise.
func readLine(ctx context.Context, r io.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(r).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		read <- result{strings.TrimSpace(line), err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-read:
		return got.line, got.err
	}
}
