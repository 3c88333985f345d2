package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// Question is asked before something is lost.
type Question struct {
	// What is about to happen, as a sentence without a full stop.
	What string
	// Lost lists what will be gone, one line each.
	Lost []string
	// Kept lists what there is to go back to.
	Kept []string
	// Stays lists what this does not bring back.
	Stays []string
	// Typed is the word to type back for a loss that nothing brings back; "" asks for y or n.
	Typed string
	// Flag is what to say on the command line instead of an answer; --yes if not set.
	Flag string
	// NoData: no database is at stake, so that backups are of no interest.
	NoData bool
	// Cluster tells the newest backup; may be nil.
	Cluster *v1alpha1.DatabaseCluster
}

// errDeclined: nothing happened, and the shell must see that.
var errDeclined = errors.New("not confirmed, nothing was changed")

// Confirm asks on stderr and reads one line. Without a terminal it does not
// wait for an answer that nobody gives.
func (f *Factory) Confirm(ctx context.Context, in Intent, q Question) error {
	if !f.Streams.InTTY {
		return &exit.UsageError{Text: "this needs a confirmation, and there is no terminal to ask on",
			Advice: "repeat with " + cmp.Or(q.Flag, "--yes") + "; to see the plan first: --dry-run=client"}
	}
	p := f.ErrPalette()
	f.Note("%s", p.Bold(q.What))
	f.Note("  context:       %s", f.contextName())
	f.Note("  namespace:     %s", in.Namespace)
	for _, l := range q.Lost {
		f.Note("  %s %s", p.Red("lost:         "), l)
	}
	for _, k := range q.Kept {
		f.Note("  kept:          %s", k)
	}
	for _, k := range q.Stays {
		f.Note("  not restored:  %s", k)
	}
	if !q.NoData {
		f.Note("  newest backup: %s", f.newestBackup(q.Cluster))
	}
	want := "y"
	if q.Typed != "" {
		want = q.Typed
		fmt.Fprintf(f.Streams.Err, "Type %q to go on: ", q.Typed)
	} else {
		fmt.Fprint(f.Streams.Err, "Go on? [y/N]: ")
	}
	answer, err := readLine(ctx, f.Streams.In)
	if err != nil {
		return err
	}
	if q.Typed == "" {
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
	text := fmt.Sprintf("%s, %s old, in %s", b.ID, f.Age(b.Time.Time), b.Repository)
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
