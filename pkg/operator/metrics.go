package operator

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// gauges are the metrics of an operator, by cluster; nil counts nothing.
type gauges struct {
	wanted, healthy, serving, operating, backup, verified, missing *prometheus.GaugeVec
	roles                                                          *prometheus.GaugeVec
	steps                                                          *prometheus.HistogramVec
}

func newGauges() *gauges {
	gauge := func(name, help string, more ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "dbop", Name: name, Help: help},
			append([]string{"namespace", "cluster"}, more...))
	}
	return &gauges{
		wanted:    gauge("members_wanted", "Members that a cluster is to have."),
		healthy:   gauge("members_healthy", "Members that are healthy and vote or serve."),
		serving:   gauge("cluster_healthy", "1 if a cluster is healthy, 0 if it is degraded or down."),
		operating: gauge("operation_running", "1 while an operation is in flight."),
		backup:    gauge("last_backup_timestamp_seconds", "When the newest backup was made."),
		verified: gauge("last_verified_backup_timestamp_seconds",
			"When the newest backup that was restored and compared was made."),
		missing: gauge("custom_resource_missing",
			"1 while a cluster's custom resource is missing and a person must decide."),
		roles: gauge("member_role", "1 for each member, with the role that it has.", "member", "role"),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "dbop", Name: "step_seconds",
			Help:    "How long steps took.",
			Buckets: prometheus.ExponentialBuckets(0.05, 3, 10)}, []string{"action", "result"}),
	}
}

func (g *gauges) vectors() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{g.wanted, g.healthy, g.serving, g.operating, g.backup, g.verified, g.missing, g.roles}
}

func (g *gauges) register(r prometheus.Registerer) error {
	all := []error{r.Register(g.steps)}
	for _, v := range g.vectors() {
		all = append(all, r.Register(v))
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// set writes what a visit found out.
func (g *gauges) set(key types.NamespacedName, c *v1alpha1.DatabaseCluster, s sheet) {
	if g == nil {
		return
	}
	at := []string{key.Namespace, key.Name}
	g.missing.DeleteLabelValues(at...)
	g.wanted.WithLabelValues(at...).Set(float64(c.Spec.Members))
	g.operating.WithLabelValues(at...).Set(truth(c.Status.Operation != ""))
	if s.state == nil {
		return
	}
	g.healthy.WithLabelValues(at...).Set(float64(s.healthy))
	g.serving.WithLabelValues(at...).Set(truth(s.verdict.Database == health.Healthy))
	g.roles.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "cluster": key.Name})
	for _, m := range s.state.View.Members {
		g.roles.WithLabelValues(key.Namespace, key.Name, m.Name, string(m.Role)).Set(1)
	}
	if b := c.Status.LastBackup; b != nil {
		g.backup.WithLabelValues(at...).Set(float64(b.Time.Unix()))
	}
	if b := c.Status.LastVerifiedBackup; b != nil {
		g.verified.WithLabelValues(at...).Set(float64(b.Time.Unix()))
	}
}

// orphaned tells of a cluster whose custom resource is missing, and nothing else.
func (g *gauges) orphaned(key types.NamespacedName) {
	if g == nil {
		return
	}
	g.forget(key)
	g.missing.WithLabelValues(key.Namespace, key.Name).Set(1)
}

// forget drops a cluster that is no more.
func (g *gauges) forget(key types.NamespacedName) {
	if g == nil {
		return
	}
	for _, v := range g.vectors() {
		v.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "cluster": key.Name})
	}
}

func (g *gauges) step(s ops.Step, took time.Duration, err error) {
	if g == nil {
		return
	}
	result := "done"
	if err != nil {
		result = "failed"
	}
	g.steps.WithLabelValues(string(s.Action), result).Observe(took.Seconds())
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
