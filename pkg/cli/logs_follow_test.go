package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// restarting is a cluster whose streams end; each read of a pod gets the next log.
type restarting struct {
	fakeClients

	streams map[string][]string
	// since is what the last read of a pod asked for.
	since map[string]corev1.PodLogOptions
}

func (r *restarting) read(ctx context.Context, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	r.since[pod] = o
	if len(r.streams[pod]) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	next := r.streams[pod][0]
	r.streams[pod] = r.streams[pod][1:]
	return io.NopCloser(strings.NewReader(next)), nil
}

// TestFollowedLogsSurviveARestart: the stream of a container ends with it, a new
// one begins where the last line was, and a member that joins is followed too.
func TestFollowedLogsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &restarting{since: map[string]corev1.PodLogOptions{}, streams: map[string][]string{
			"db-1-0": {"2026-11-21T10:00:01Z one\n2026-11-21T10:00:02.5Z two\n", "2026-11-21T10:00:02.5Z two\n2026-11-21T10:00:09Z again\n"},
			"db-2-0": {"2026-11-21T10:00:03Z joined\n"},
		}}
		r.readLog = r.read
		r.addPods("db", "db-1")
		first := r.items
		r.addPods("db", "db-2")
		var out, problems bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		tail := int64(20)
		c := &v1alpha1.DatabaseCluster{}
		c.Name = "db"
		m := &merger{w: &out, live: true, width: 4, last: map[string]time.Time{}}
		err := followLogs(ctx, &Factory{Config: Config{Clients: r, Streams: Streams{Err: &problems}}}, m, &target{namespace: "shop", cluster: c}, first,
			corev1.PodLogOptions{Follow: true, Timestamps: true, TailLines: &tail})
		if got := out.String(); strings.Count(got, "two") != 1 || !strings.Contains(got, "db-1 | one\n") || !strings.Contains(got, "db-1 | again\n") || !strings.Contains(got, "db-2 | joined\n") {
			t.Errorf("printed\n%s", got)
		}
		if o, ok := err.(*outcome); !ok || o.code != ExitInterrupted || problems.Len() > 0 { //nolint:errorlint // it is the last word
			t.Errorf("%v, %s", err, problems.String())
		}
		if o := r.since["db-1-0"]; o.SinceTime == nil || o.TailLines != nil {
			t.Errorf("the second read asked for %+v", o)
		}
	})
}
