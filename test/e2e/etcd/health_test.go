//go:build e2e

package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// settledWithin is how long remains of an operation may take to go.
const settledWithin = 30 * time.Second

// sheet is what status says, as far as tests need it.
type sheet struct {
	Verdict struct {
		Level    string `json:"level"`
		Headline string `json:"headline"`
	} `json:"verdict"`
	Version string `json:"version"`
	Members []struct {
		Name    string `json:"name"`
		Role    string `json:"role"`
		Version string `json:"version"`
		Auth    string `json:"auth"`
	} `json:"members"`
}

func (s *scene) status(name string) sheet {
	s.Helper()
	var out sheet
	r := s.try("status", name, "-o", "json")
	if err := json.Unmarshal([]byte(r.Stdout), &out); err != nil {
		s.Fatalf("status is no JSON: %v\n%s", err, r)
	}
	return out
}

// leader is the name of the member that leads.
func (s *scene) leader(name string) string {
	s.Helper()
	leader := ""
	s.ok(harness.Until(s.ctx, settledWithin, name+" to have a leader", func(context.Context) error {
		for _, m := range s.status(name).Members {
			if m.Role == "leader" {
				leader = m.Name
				return nil
			}
		}
		return errors.New("no member leads")
	}))
	return leader
}

// healthy asks everybody: the tool, the database and Kubernetes must agree
// that the cluster has exactly so many healthy voters and nothing besides.
func (s *scene) healthy(name string, members int) {
	s.Helper()
	if r := s.try("status", name); r.Code != 0 {
		s.Fatalf("the cluster is not healthy:\n%s", r)
	}
	s.ok(harness.Until(s.ctx, settledWithin, name+" to be as wanted", func(ctx context.Context) error {
		return s.agree(ctx, name, members)
	}))
}

func (s *scene) agree(ctx context.Context, name string, members int) error {
	db, err := s.site.DialEtcd(ctx, s.ns, name)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	list, err := db.KV.MemberList(ctx)
	if err != nil {
		return fmt.Errorf("ask for the member list: %w", err)
	}
	for _, m := range list.Members {
		if m.IsLearner || m.Name == "" {
			return fmt.Errorf("member %x %q is no voter", m.ID, m.Name)
		}
	}
	if len(list.Members) != members {
		return fmt.Errorf("etcd lists %d members, not %d", len(list.Members), members)
	}
	own := metav1.ListOptions{LabelSelector: "dbop.dev/cluster=" + name + ",app.kubernetes.io/component=database"}
	pods, err := s.site.Client.CoreV1().Pods(s.ns).List(ctx, own)
	if err != nil {
		return err
	}
	sets, err := s.site.Client.AppsV1().StatefulSets(s.ns).List(ctx, own)
	if err != nil {
		return err
	}
	if len(pods.Items) != members || len(sets.Items) != members {
		return fmt.Errorf("there are %d pods and %d workloads for %d members", len(pods.Items), len(sets.Items), members)
	}
	for _, p := range pods.Items {
		if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			return fmt.Errorf("pod %s is not ready", p.Name)
		}
	}
	return nil
}

// volumes is how many volumes of the cluster exist.
func (s *scene) volumes(name string) int {
	s.Helper()
	list, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx,
		metav1.ListOptions{LabelSelector: "dbop.dev/cluster=" + name})
	s.ok(err)
	return len(list.Items)
}

// settledVolumes waits until exactly so many volumes are left.
func (s *scene) settledVolumes(name string, want int) {
	s.Helper()
	s.ok(harness.Until(s.ctx, settledWithin, "the right number of volumes", func(context.Context) error {
		if n := s.volumes(name); n != want {
			return fmt.Errorf("%s has %d volumes, not %d", name, n, want)
		}
		return nil
	}))
}

// nothingLost proves that every acknowledged write is there.
func (s *scene) nothingLost(db *harness.Etcd, w *harness.Writer, prefix string) harness.Counts {
	s.Helper()
	counts := w.Stop()
	missing, err := harness.MissingAcks(s.ctx, db, prefix, w.AckedBefore())
	s.ok(err)
	if len(missing) > 0 {
		s.Fatalf("%d of %d acknowledged writes are lost, such as %s", len(missing), counts.Acked, missing[0])
	}
	if counts.Lost > 0 {
		s.Errorf("%d writes were never acknowledged, in spite of retries: %s", counts.Lost, counts.LastError)
	}
	return counts
}
