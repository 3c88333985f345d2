package cli

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// fakeSite is what is installed, by kind and name.
type fakeSite struct {
	objects map[string]*unstructured.Unstructured
	mode    kube.DryRun
	applied []string
	// image is that of an operator whose objects don't matter.
	image string
}

func manifestName(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

func (s *fakeSite) GetManifest(_ context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if o := s.objects[manifestName(u)]; o != nil {
		return o.DeepCopy(), nil
	}
	return nil, kube.ErrNotFound
}

func (s *fakeSite) ApplyManifest(_ context.Context, u *unstructured.Unstructured) error {
	s.applied = append(s.applied, u.GetKind())
	if s.mode == kube.DryRunNone {
		s.objects[manifestName(u)] = u.DeepCopy()
	}
	return nil
}

func (s *fakeSite) DeleteManifest(_ context.Context, u *unstructured.Unstructured) error {
	delete(s.objects, manifestName(u))
	return nil
}

func (s *fakeSite) Rollout(context.Context, string, string) (ready, wanted int64, image string, err error) {
	if s.image == "" && len(s.objects) == 0 {
		return 0, 0, "", kube.ErrNotFound
	}
	return 2, 2, s.image, nil
}

func TestOperatorUpgrade(t *testing.T) {
	b := newBench(t)
	site := &fakeSite{objects: map[string]*unstructured.Unstructured{}}
	b.installer = site
	is := func(code int, out, errs string, args ...string) {
		t.Helper()
		site.applied = nil
		if r := b.run(append([]string{"operator"}, args...)...); r.code != code || !strings.Contains(r.out, out) || !strings.Contains(r.err, errs) {
			t.Errorf("%v: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	is(ExitNotFound, "", "hint: install one", "upgrade", "--image", "tool:v0.2.0")
	is(ExitDone, "operator installed", "", "install", "--image", "tool:v0.2.0", "--watch", "shop", "--replicas", "3")
	is(ExitDone, "operator unchanged", "", "upgrade", "--image", "tool:v0.2.0")
	if len(site.applied) > 0 {
		t.Errorf("unchanged, and applied %v", site.applied)
	}
	is(ExitRefused, "", "newer than tool:v0.1.0", "upgrade", "--image", "tool:v0.1.0")
	is(ExitDone, "(dry run)", "deployment/dbop-operator changes in spec.template", "upgrade", "--image", "tool:v0.3.0", "--dry-run=client")
	if len(site.applied) > 0 {
		t.Errorf("a rehearsal applied %v", site.applied)
	}
	is(ExitDone, "(server dry run)", "", "upgrade", "--image", "tool:v0.3.0", "--dry-run=server")
	is(ExitDone, "operator upgraded", "No pod of a database restarts.", "upgrade", "--image", "tool:v0.3.0")
	if !slices.Equal(site.applied, []string{"Deployment"}) {
		t.Errorf("applied %v", site.applied)
	}
	is(ExitDone, "operator unchanged", "", "upgrade", "--image", "tool:v0.3.0")
	is(ExitDone, "operator upgraded", "does not tell its version", "upgrade", "--image", "tool:dev")
	delete(site.objects, "Role shop/dbop-operator")
	is(ExitDone, "operator upgraded", "role/dbop-operator is made", "upgrade", "--image", "tool:dev")
}
