package runner

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	outage := &kube.RequestError{Verb: "update", Resource: "configmaps", Kind: kube.ErrTimeout}
	for name, c := range map[string]struct {
		// answers are given one after the other, the last one for ever.
		answers []error
		final   []error
		tries   int
		want    error
		atLeast time.Duration
	}{
		"taken at once":         {answers: []error{nil}, tries: 1},
		"taken after an outage": {answers: []error{outage, outage, nil}, tries: 3},
		"an error that is final": {answers: []error{kube.ErrConflict}, final: []error{kube.ErrConflict}, tries: 1,
			want: kube.ErrConflict},
		"what is invalid stays so": {answers: []error{&kube.RequestError{Verb: "update", Resource: "configmaps",
			Err: apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "db", nil)}}, tries: 1},
		"an outage without end": {answers: []error{outage}, want: kube.ErrTimeout, atLeast: ops.OutageDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, began := 0, time.Now()
				err := ops.Retry(t.Context(), func() error {
					tries++
					return c.answers[min(tries, len(c.answers))-1]
				}, c.final...)
				if c.tries > 0 && tries != c.tries {
					t.Errorf("tried %d times, want %d", tries, c.tries)
				}
				if last := c.answers[len(c.answers)-1]; !errors.Is(err, last) || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took < c.atLeast {
					t.Errorf("gave up after %s", took)
				}
			})
		})
	}
}
