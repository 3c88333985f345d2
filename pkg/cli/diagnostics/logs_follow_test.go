package diagnostics

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
)

// restarting is a cluster whose streams end; each read of a pod gets the next log.
type restarting struct {
	clients.Clients

	items   []corev1.Pod
	streams map[string][]string
	// since is what the last read of a pod asked for.
	since map[string]corev1.PodLogOptions
}

func (r *restarting) Logs(ctx context.Context, _, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	r.since[pod] = o
	if len(r.streams[pod]) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	next := r.streams[pod][0]
	r.streams[pod] = r.streams[pod][1:]
	return io.NopCloser(strings.NewReader(next)), nil
}

func (r *restarting) Pods(context.Context, string, string) ([]corev1.Pod, error) { return r.items, nil }

// runningPod is that of one member.
func runningPod(member string) corev1.Pod {
	var p corev1.Pod
	p.Namespace, p.Name = "shop", v1alpha1.PodName(member)
	p.Labels = map[string]string{v1alpha1.LabelMember: member}
	p.Status.Phase = corev1.PodRunning
	return p
}

// TestFollowedLogsSurviveARestart: the stream of a container ends with it, a new
// one begins where the last line was, and a member that joins is followed too.
func TestFollowedLogsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &restarting{since: map[string]corev1.PodLogOptions{}, streams: map[string][]string{
			"db-1-0": {"2026-11-21T10:00:01Z one\n2026-11-21T10:00:02.5Z two\n",
				"2026-11-21T10:00:02.5Z two\n2026-11-21T10:00:09Z again\n"},
			"db-2-0": {"2026-11-21T10:00:03Z joined\n"},
		}}
		r.items = []corev1.Pod{runningPod("db-1"), runningPod("db-2")}
		first := r.items[:1]
		var out, problems bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		tail := int64(20)
		c := &v1alpha1.DatabaseCluster{}
		c.Name = "db"
		m := &merger{w: &out, live: true, width: 4, last: map[string]time.Time{}}
		err := followLogs(ctx,
			&command.Factory{Config: command.Config{Clients: r, Streams: progress.Streams{Err: &problems}}}, m,
			&clients.Target{Namespace: "shop", Cluster: c}, first,
			corev1.PodLogOptions{Follow: true, Timestamps: true, TailLines: &tail})
		if got := out.String(); strings.Count(got, "two") != 1 || !strings.Contains(got, "db-1 | one\n") ||
			!strings.Contains(got, "db-1 | again\n") || !strings.Contains(got, "db-2 | joined\n") {
			t.Errorf("printed\n%s", got)
		}
		if !errors.Is(err, exit.Outcome(exit.Interrupted)) || problems.Len() > 0 {
			t.Errorf("%v, %s", err, problems.String())
		}
		if o := r.since["db-1-0"]; o.SinceTime == nil || o.TailLines != nil {
			t.Errorf("the second read asked for %+v", o)
		}
	})
}
