package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// stage is where the story plays, and what is measured on the way.
type stage struct {
	site      *harness.Site
	kubectl   harness.Command
	namespace string
	home      string
	backups   string
	// repository is where backups go, and storage the namespace of an object store that has it; "" for a directory.
	repository, storage string
	db                  *harness.Etcd
	writer              *harness.Writer
	// gap is the longest time without an acknowledged write in a span; nil while nobody writes.
	gap    func(from, to time.Time) (time.Duration, error)
	scenes []scene
}

// scene is one row of the table.
type scene struct {
	title    string
	from, to time.Time
	failed   bool
	// gap is "-" where nobody wrote.
	gap       string
	operation bool
}

func newStage(ctx context.Context) (*stage, error) {
	site, err := harness.NewSite()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "dbop-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a home: %w", err)
	}
	s := &stage{site: site, kubectl: site.Kubectl(home), home: home, backups: filepath.Join(home, "backups")}
	s.kubectl.Echo = os.Stdout
	if err := os.Mkdir(s.backups, 0o700); err != nil {
		return nil, fmt.Errorf("make a repository: %w", err)
	}
	s.namespace, err = site.CreateNamespace(ctx, "demo")
	return s, err
}

func (s *stage) say(format string, args ...any) { fmt.Printf("\n# "+format+"\n", args...) }

// do prints a command line, runs it, and asks that it succeeds.
func (s *stage) do(ctx context.Context, title string, args ...string) error {
	args = append([]string{"dbop"}, append(args, "-n", s.namespace)...)
	fmt.Printf("\n$ kubectl %s\n", strings.Join(args, " "))
	sc := s.open(title)
	sc.operation = true
	r, err := s.kubectl.Run(ctx, args...)
	s.close(sc, err != nil || r.Code != 0)
	if err != nil {
		return err
	}
	if r.Code != 0 {
		return fmt.Errorf("%s: exit code %d", title, r.Code)
	}
	return nil
}

// watch measures something that the demonstration itself does as a client.
func (s *stage) watch(title string, f func() error) error {
	s.say("%s", title)
	sc := s.open(title)
	err := f()
	s.close(sc, err != nil)
	if err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	return nil
}

func (s *stage) open(title string) *scene {
	return &scene{title: title, from: time.Now(), gap: "-"}
}

func (s *stage) close(sc *scene, failed bool) {
	sc.to, sc.failed = time.Now(), failed
	if s.gap != nil && sc.operation {
		if gap, err := s.gap(sc.from, sc.to); err == nil {
			sc.gap = fmt.Sprintf("%dms", gap.Milliseconds())
		}
	}
	s.scenes = append(s.scenes, *sc)
}

// explain prints what helps to understand a failure.
func (s *stage) explain(ctx context.Context) {
	cli := s.site.CLI(s.home, nil)
	s.site.Report(context.WithoutCancel(ctx), os.Stdout, s.namespace, cli, name, second, relational, cache)
}

// clear ends everything that the story began.
func (s *stage) clear() {
	if s.writer != nil {
		s.writer.Stop()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if os.Getenv("DBOP_KEEP") == "1" {
		fmt.Printf("\nDBOP_KEEP=1: namespace %s and %s stay\n", s.namespace, s.home)
		return
	}
	if err := s.site.DeleteNamespace(ctx, s.namespace, time.Minute); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
	if s.storage != "" {
		if err := s.site.DeleteNamespace(ctx, s.storage, time.Minute); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
	}
	if err := os.RemoveAll(s.home); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
}

// print shows the table: step, seconds, longest write gap.
func (s *stage) print(out io.Writer) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "STEP\tSECONDS\tLONGEST-WRITE-GAP\tRESULT")
	for _, sc := range s.scenes {
		result := "ok"
		if sc.failed {
			result = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%s\n", sc.title, sc.to.Sub(sc.from).Seconds(), sc.gap, result)
	}
	_ = w.Flush()
	if s.writer != nil {
		c := s.writer.Counts()
		fmt.Fprintf(out, "\n%d writes at %d a second: %d acknowledged, %d tries repeated, %d given up\n",
			c.Writes, perSecond,
			c.Acked, c.Unknown, c.Lost)
	}
}

// spread shows that the members run on two nodes.
func (s *stage) spread(ctx context.Context) error {
	fmt.Printf("\n$ kubectl get pods -o wide -n %s\n", s.namespace)
	if _, err := s.kubectl.Run(ctx, "get", "pods", "-o", "wide", "-n", s.namespace); err != nil {
		return err
	}
	pods, err := s.site.Client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	nodes := map[string]bool{}
	for _, p := range pods.Items {
		nodes[p.Spec.NodeName] = true
	}
	if len(nodes) < 2 {
		return fmt.Errorf("all %d members run on one node", len(pods.Items))
	}
	return nil
}
