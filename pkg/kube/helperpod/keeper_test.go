package helperpod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestBuildKeeper: its pod runs for ever, can ask nothing of the API, and is none while it is idle.
func TestBuildKeeper(t *testing.T) {
	t.Parallel()
	in := jobSpec()
	in.Name, in.Purpose = "db-archive", PurposeArchive
	set := BuildKeeper(in, false)
	pod := set.Spec.Template.Spec
	if token := pod.AutomountServiceAccountToken; token == nil || *token {
		t.Error("its pod has a token")
	}
	if pod.RestartPolicy != corev1.RestartPolicyAlways || pod.ActiveDeadlineSeconds != nil || *set.Spec.Replicas != 1 {
		t.Errorf("%+v", set.Spec)
	}
	for key, value := range set.Spec.Selector.MatchLabels {
		if set.Spec.Template.Labels[key] != value {
			t.Errorf("its selector does not find its pod: %s", key)
		}
	}
	before := set.Spec.Selector
	in.SameNode = "backups" // a selector can't be changed
	if diff := cmp.Diff(before, BuildKeeper(in, false).Spec.Selector); diff != "" {
		t.Errorf("with a repository on a claim (-before +after):\n%s", diff)
	}
	if idle := BuildKeeper(in, true); *idle.Spec.Replicas != 0 {
		t.Errorf("%d pods of an idle one", *idle.Spec.Replicas)
	}
}
