package operator

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// maxAction bounds the action of an event.
const maxAction = 128

// eventRecorder tells of an operation as events on its object, log lines and metrics.
type eventRecorder struct {
	events events.EventRecorder
	object runtime.Object
	// namespace of the cluster.
	namespace string
	log       logr.Logger
	gauges    *gauges
}

var _ ops.Reporter = (*eventRecorder)(nil)

func (v *reconciliation) eventRecorder() *eventRecorder {
	n := &eventRecorder{events: v.Events, namespace: v.key.Namespace,
		log: ctrllog.Log.WithName("cluster").WithValues("namespace", v.key.Namespace, "name", v.key.Name), gauges: v.gauges}
	if v.custom != nil {
		n.object = v.custom.DeepCopy()
	}
	return n
}

func (n *eventRecorder) event(kind, reason, action, text string) {
	if n.object != nil {
		// Events of one action become a series, of which only the first text shows.
		n.events.Eventf(n.object, nil, kind, reason, action[:min(len(action), maxAction)], "%s", said(n.namespace, text))
	}
}

// Planned implements ops.Reporter.
func (n *eventRecorder) Planned(p ops.Plan) {
	titles := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		titles[i] = s.Title
	}
	n.log.Info("planned", "verb", p.Verb, "steps", titles)
	n.event(corev1.EventTypeNormal, "Planned", p.Verb, p.Verb+": "+strings.Join(titles, "; "))
}

// over tells how an operation ended.
func (n *eventRecorder) over(o *v1alpha1.Operation) {
	n.log.Info("over", "verb", o.Spec.Verb, "phase", o.Status.Phase, "requestedBy", o.Spec.RequestedBy)
	n.event(corev1.EventTypeNormal, string(o.Status.Phase), string(o.Spec.Verb),
		fmt.Sprintf("%s, asked for by %s", o.Spec.Verb, o.Spec.RequestedBy))
}

// Started implements ops.Reporter.
func (n *eventRecorder) Started(s ops.Step) { n.log.Info("step began", "step", s.ID, "title", s.Title) }

// Done implements ops.Reporter.
func (n *eventRecorder) Done(s ops.Step, took time.Duration, err error) {
	n.gauges.step(s, took, err)
	if err != nil {
		n.log.Error(err, "step failed", "step", s.ID, "title", s.Title, "seconds", took.Seconds())
		n.event(corev1.EventTypeWarning, "StepFailed", s.ID, s.Title+": "+err.Error())
		return
	}
	n.log.Info("step done", "step", s.ID, "title", s.Title, "seconds", took.Seconds())
	n.event(corev1.EventTypeNormal, "Step", s.ID, s.Title)
}

// Waiting implements ops.Reporter.
func (n *eventRecorder) Waiting(s ops.Step, why string) {
	n.log.Info("waiting", "step", s.ID, "why", why)
}

// Progress implements ops.Reporter; bytes are no news here.
func (*eventRecorder) Progress(ops.Step, int64, int64) {}

// Note implements ops.Reporter.
func (n *eventRecorder) Note(text string) { n.log.Info(text) }
