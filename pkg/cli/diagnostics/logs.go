package diagnostics

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// maxLogLine is the longest line that is kept whole.
const maxLogLine = 1 << 20

// NewLogs makes the command logs.
func NewLogs(f *command.Factory) *cobra.Command {
	var follow, previous bool
	var since time.Duration
	var tail int64
	cmd := &cobra.Command{
		Use:   "logs [NAME]",
		Short: "Print the logs of all members",
		Long: `Print the logs of all members. The name of the member is before each line. Without -f the lines are
merged by time. With -f new members and members that restart are followed too, until the command is
interrupted. Lines are printed as the database wrote them, control characters included.`,
		Example: `  # Print the last ten minutes of all members of my-db
  kubectl dbop logs my-db --since 10m

  # Follow the logs, beginning with the last 20 lines of each member
  kubectl dbop logs my-db -f --tail 20`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := corev1.PodLogOptions{Follow: follow, Previous: previous, Timestamps: true}
			if since > 0 {
				seconds := int64(since.Seconds())
				o.SinceSeconds = &seconds
			}
			if tail >= 0 {
				o.TailLines = &tail
			}
			return runLogs(cmd.Context(), f, args, o)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "Go on printing as lines come.")
	cmd.Flags().BoolVarP(&previous, "previous", "p", false, "Print the logs of the containers before their last restart.")
	cmd.Flags().DurationVar(&since, "since", 0, "Only lines younger than this, such as 10m.")
	cmd.Flags().Int64Var(&tail, "tail", -1, "Only this many lines of each member; -1 is all.")
	return cmd
}

func runLogs(ctx context.Context, f *command.Factory, args []string, o corev1.PodLogOptions) error {
	t, err := f.Target(ctx, args)
	if err != nil {
		return err
	}
	found, err := f.Clients.Pods(ctx, t.Namespace, v1alpha1.LabelCluster+"="+t.Cluster.Name+","+v1alpha1.LabelMember)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return &ops.Error{Kind: ops.Failed, Message: "cluster " + t.Cluster.Name + " has no pods",
			Hint: command.DisplayName + " status " + t.Cluster.Name}
	}
	m := &merger{w: f.Streams.Out, live: o.Follow, last: map[string]time.Time{}}
	for _, p := range found {
		m.width = max(m.width, len(p.Labels[v1alpha1.LabelMember]))
	}
	if o.Follow {
		return followLogs(ctx, f, m, t, found, o)
	}
	var all sync.WaitGroup
	problems := make([]error, len(found))
	for i, p := range found {
		all.Go(func() {
			problems[i] = m.read(ctx, f, p, o)
		})
	}
	all.Wait()
	if err := m.flush(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return exit.Outcome(exit.Interrupted)
	}
	// One member that can't be read must not hide the others' lines, but it counts.
	return errors.Join(problems...)
}

// merger brings lines of several members together.
type merger struct {
	w     io.Writer
	width int
	live  bool

	mu    sync.Mutex
	lines []logLine
	// last is, by pod, the time of the newest line that was printed.
	last map[string]time.Time
}

// logLine sorts by the time that the kubelet wrote before it.
type logLine struct{ stamp, member, text string }

func (m *merger) read(ctx context.Context, f *command.Factory, p corev1.Pod, o corev1.PodLogOptions) error {
	member := p.Labels[v1alpha1.LabelMember]
	log, err := f.Clients.Logs(ctx, p.Namespace, p.Name, o)
	if err != nil {
		return fmt.Errorf("read the log of %s: %w", member, err)
	}
	defer func() { _ = log.Close() }()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, maxLogLine)
	for lines.Scan() {
		if err := m.line(member, p.Name, lines.Text()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the log of %s: %w", member, err)
	}
	return nil
}

// line prints at once when following, and keeps for sorting otherwise. A line
// that was printed before a stream broke off is not printed twice.
func (m *merger) line(member, pod, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	stamp, text, ok := strings.Cut(text, " ")
	if !ok {
		stamp, text = "", stamp
	}
	if !m.live {
		m.lines = append(m.lines, logLine{stamp, member, text})
		return nil
	}
	if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
		if !at.After(m.last[pod]) {
			return nil
		}
		m.last[pod] = at
	}
	return m.print(member, text)
}

func (m *merger) flush() error {
	slices.SortStableFunc(m.lines, func(a, b logLine) int {
		if a.stamp < b.stamp {
			return -1
		}
		if a.stamp > b.stamp {
			return 1
		}
		return 0
	})
	for _, l := range m.lines {
		if err := m.print(l.member, l.text); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) print(member, text string) error {
	if _, err := fmt.Fprintf(m.w, "%-*s | %s\n", m.width, member, text); err != nil {
		return &writeError{err}
	}
	return nil
}
