//go:build e2e

package scene

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// returnWithin bounds the time until a pod that was deleted is ready again.
const returnWithin = 2 * time.Minute

// Return deletes the pod of each member, one after the other, and waits until it is ready again. A command may leave
// templates of which no pod can be made: nobody sees that as long as the pods of before run.
func (s *Scene) Return() {
	s.Helper()
	pods := s.Site.Client.CoreV1().Pods(s.NS)
	for _, p := range s.Members() {
		s.OK(pods.Delete(s.Ctx, p.Name, metav1.DeleteOptions{}))
		s.OK(harness.Until(s.Ctx, returnWithin, p.Name+" returns", func(ctx context.Context) error {
			now, err := pods.Get(ctx, p.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			ready := slices.ContainsFunc(now.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
			if now.UID == p.UID || !ready {
				return errors.New("it is not ready again")
			}
			return nil
		}))
	}
}
