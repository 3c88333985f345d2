package clitest

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// world does what the plan predicts.
type world struct {
	c       *Fake
	mode    kube.DryRun
	wanted  *v1alpha1.DatabaseCluster
	key     client.ObjectKey
	Facts   observe.Facts
	View    engine.View
	changed chan struct{}
	// Raised are alarms that stand.
	Raised []engine.Alarm
	// Before is called before each step; an error fails it.
	Before func(ops.Step) error
}

func (w *world) Observe(ctx context.Context) (ops.State, error) {
	s := ops.State{Now: Noon, Kube: w.Facts, View: w.View}
	c, err := w.c.Records(w.mode).GetCluster(ctx, w.key.Namespace, w.key.Name)
	if errors.Is(err, kube.ErrNotFound) || errors.Is(err, store.ErrDamaged) && w.wanted != nil {
		c, err = nil, nil
	}
	s.Cluster = c
	if s.Kube.Schedule == nil {
		s.Kube.Schedule = &workload.Schedule{Missing: []string{"ServiceAccount", "Role", "RoleBinding", "CronJob"}}
	}
	if err != nil || c == nil || len(w.Facts.Members) == 0 {
		return s, err
	}
	n := planner.Predict(opstest.Engine{}, s, ops.Step{Action: ops.ActionWait})
	for i := range n.View.Members {
		m := &n.View.Members[i]
		m.DataBytes = 3 << 20
		for _, a := range w.Raised {
			if a.Member == m.Name {
				m.Alarms = append(m.Alarms, a.Name)
			}
		}
	}
	n.View.Alarms = w.Raised
	for i := range n.Kube.Members {
		n.Kube.Members[i].Pod.Node, n.Kube.Members[i].Volume.Capacity = "node-"+printer.Itoa(int64(i%2+1)),
			resource.MustParse("1Gi")
	}
	return n, ctx.Err()
}

func (w *world) Perform(ctx context.Context, s ops.State, step ops.Step, _ func(int64, int64)) (ops.Result, error) {
	if w.mode == kube.DryRunClient {
		return ops.Result{}, engine.ErrReadOnly
	}
	if w.mode == kube.DryRunServer {
		return ops.Result{}, nil
	}
	w.c.wrote(string(step.Action))
	if w.Before != nil {
		if err := w.Before(step); err != nil {
			return ops.Result{}, err
		}
	}
	n := planner.Predict(opstest.Engine{}, s, step)
	w.Facts, w.View = n.Kube, n.View
	store := w.c.Records(w.mode)
	if n.Cluster == nil {
		return ops.Result{}, store.DeleteCluster(ctx, s.Cluster)
	}
	c, err := store.GetCluster(ctx, w.key.Namespace, w.key.Name)
	if err != nil {
		return ops.Result{}, err
	}
	c.Status = n.Cluster.Status
	var facts map[string]string
	if n.Operation != nil {
		facts = n.Operation.Status.Facts
	}
	return ops.Result{Facts: facts}, store.UpdateCluster(ctx, c)
}

func (w *world) Save(ctx context.Context, op *v1alpha1.Operation) error {
	return w.c.Records(w.mode).UpdateOperation(ctx, op)
}

func (w *world) Changed() <-chan struct{} { return w.changed }

func (w *world) Close() error { return nil }

type freeLease struct{}

func (freeLease) Check(context.Context) error { return nil }

func (freeLease) Lost() <-chan struct{} { return nil }

func (freeLease) Release(context.Context) error { return nil }

func (freeLease) Regain(context.Context) (lease.Lease, error) { return nil, lease.ErrLost }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// ReadCertificates gives the world certificates, once.
func (w *world) ReadCertificates() {
	if w.Facts.Trust != nil || len(w.Facts.Members) == 0 {
		return
	}
	year := Noon.Add(365 * 24 * time.Hour)
	ca := pki.Authority{Fingerprint: "0123456789abcdef0123456789abcdef", Subject: "CN=shop/my-db", NotAfter: year}
	w.Facts.Trust = &pki.Trust{Current: ca}
	leaf := func(secret, subject string, use pki.CertificateUse, member string, left time.Duration) {
		w.Facts.Leaves = append(w.Facts.Leaves,
			pki.Certificate{Secret: secret, Use: use, Member: member, Subject: subject, Issuer: ca.Subject,
				Fingerprint: secret + "-fedcba9876543210", NotAfter: Noon.Add(left), Signer: ca.Fingerprint,
				Trusts: w.Facts.Trust.Bundle()})
	}
	leaf("my-db-admin-tls", "CN=root", pki.UseAdmin, "", 300*24*time.Hour)
	leaf("my-db-client-tls", "CN=client", pki.UseClient, "", 29*24*time.Hour)
	for _, m := range w.Facts.Members {
		leaf(m.Name+"-tls", "CN="+m.Name, pki.UseMember, m.Name, 300*24*time.Hour)
	}
}
