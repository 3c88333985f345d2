package runner

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// customResources holds at most one custom resource.
type customResources struct {
	one   *v1alpha1.DatabaseCluster
	alive bool
	// err is why none can be made.
	err error
}

func (c *customResources) GetCustom(context.Context, string, string) (*v1alpha1.DatabaseCluster, error) {
	if c.one == nil {
		return nil, kube.ErrNotFound
	}
	return c.one.DeepCopy(), nil
}

func (c *customResources) CreateCustom(_ context.Context, o *v1alpha1.DatabaseCluster) error {
	if c.err != nil {
		return c.err
	}
	o.UID = "uid"
	c.one = o.DeepCopy()
	return nil
}

func (c *customResources) DeleteCustom(context.Context, *v1alpha1.DatabaseCluster) error {
	c.one = nil
	return nil
}

func (c *customResources) OperatorAlive(context.Context, string, string) (bool, error) {
	return c.alive, nil
}

func TestAdoptAndRelease(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		ctx, c := context.Background(), &customResources{}
		for _, want := range []ops.Kind{"", ops.Unchanged} {
			if err := r.Adopt(ctx, c, "shop", "db"); err != nil && ops.KindOf(err) != want || c.one == nil ||
				sh.cluster.Annotations[v1alpha1.AnnotationCustom] != "uid" {
				t.Fatalf("%v, %+v", err, c.one)
			}
		}
		if m, err := policy.Next(policy.Input{Custom: c.one, Record: sh.cluster}); err != nil ||
			m != (policy.NextAction{}) {
			t.Errorf("adopted, and at once something is to be done: %+v, %v", m, err)
		}
		for _, want := range []ops.Kind{"", ops.Unchanged} {
			if err := r.Release(ctx, c, "shop", "db"); err != nil && ops.KindOf(err) != want || c.one != nil ||
				sh.cluster.Annotations[v1alpha1.AnnotationCustom] != "" {
				t.Fatalf("%v, %+v", err, c.one)
			}
		}
	})
}

// TestAdoptLeavesDirectoriesOut: an object that the definition refuses is never
// made, and nothing follows from what it leaves out.
func TestAdoptLeavesDirectoriesOut(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		c := &customResources{}
		sh.cluster.Spec.Backup.Repository = "dir:/backups"
		sh.cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b"}
		if err := r.Adopt(context.Background(), c, "shop", "db"); err != nil {
			t.Fatal(err)
		}
		if s := c.one.Spec; s.RestoreFrom != nil || s.Backup.Repository != "" {
			t.Errorf("%+v", s)
		}
		if m, err := policy.Next(policy.Input{Custom: c.one, Record: sh.cluster}); err != nil || m.Request != nil {
			t.Errorf("adopted: %+v, %v", m, err)
		}
	})
}

// TestAdoptIsKilledAnywhere: a repeat completes what a dead process began, and
// in between nobody takes the object for deleted.
func TestAdoptIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		ctx, c := context.Background(), &customResources{}
		sh.fuse = 0
		if err := r.Adopt(ctx, c, "shop", "db"); err == nil || c.one == nil {
			t.Fatal("it did not die between its two writes")
		}
		if m, err := policy.Next(policy.Input{Custom: c.one, Record: sh.cluster}); !m.Rest ||
			ops.KindOf(err) != ops.Refused {
			t.Errorf("half adopted: %+v, %v", m, err)
		}
		sh.fuse = 1
		if err := r.Adopt(ctx, c, "shop", "db"); err != nil {
			t.Fatal(err)
		}
		sh.fuse = 1
		record := sh.cluster.DeepCopy()
		if err := r.Release(ctx, c, "shop", "db"); err != nil {
			t.Fatal(err)
		}
		// It died after the first write: the object is there, the record is free.
		c.one = record
		if m, _ := policy.Next(policy.Input{Record: sh.cluster}); !m.Rest {
			t.Errorf("half released: %+v", m)
		}
		if err := r.Release(ctx, c, "shop", "db"); err != nil || c.one != nil {
			t.Errorf("%v", err)
		}
	})
}

func TestAdoptRefusesWhatDiffers(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		c := &customResources{one: sh.cluster.DeepCopy()}
		c.one.UID, c.one.Spec.Members = "uid", 5
		if err := r.Adopt(context.Background(), c, "shop", "db"); ops.KindOf(err) != ops.Refused ||
			sh.cluster.Annotations[v1alpha1.AnnotationCustom] != "" {
			t.Errorf("%v", err)
		}
	})
}

func TestAdoptSaysWhereDefinitionsComeFrom(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		err := r.Adopt(context.Background(), &customResources{err: kube.ErrNotFound}, "shop", "db")
		e, ok := errors.AsType[*ops.Error](err)
		if !ok || e.Kind != ops.Refused || !strings.Contains(e.Hint, "kubectl dbop operator install") ||
			sh.cluster.Annotations[v1alpha1.AnnotationCustom] != "" {
			t.Errorf("%v", err)
		}
	})
}
