package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Values of LabelKind, and the keys under which the JSON is.
const (
	kindCluster   = "cluster"
	kindOperation = "operation"
	keyCluster    = "cluster.json"
	keyOperation  = "operation.json"
)

// maxJournal bounds a record: an operation that is resumed for weeks must
// still fit into an object of at most 1 MiB.
const maxJournal = 200

// ErrDamaged: a record is there and can't be read.
var ErrDamaged = errors.New("the record is damaged")

// Bounds of the texts in a record, in bytes. With maxJournal they keep it far below 1 MiB.
const (
	maxWords = 4 << 10
	maxTitle = 512
)

// shortened is a copy of an operation's record whose texts are bounded: what
// fails may quote whatever it met.
func shortened(r recordedOperation) recordedOperation {
	r.Spec.Command, r.Status.Message = cut(r.Spec.Command, maxWords), cut(r.Status.Message, maxWords)
	r.Status.Journal = slices.Clone(r.Status.Journal[max(0, len(r.Status.Journal)-maxJournal):])
	for i := range r.Status.Journal {
		e := &r.Status.Journal[i]
		e.Title, e.Error = cut(e.Title, maxTitle), cut(e.Error, maxTitle)
	}
	return r
}

// cut shortens a text to at most so many bytes.
func cut(s string, most int) string {
	const mark = "..."
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len(mark)], "") + mark
}

// recordedCluster is the stored form. What the ConfigMap's own metadata says
// is not said twice: two copies could differ.
type recordedCluster struct {
	Generation int64                          `json:"generation"`
	Spec       v1alpha1.DatabaseClusterSpec   `json:"spec"`
	Status     v1alpha1.DatabaseClusterStatus `json:"status"`
}

type recordedOperation struct {
	Spec   v1alpha1.OperationSpec   `json:"spec"`
	Status v1alpha1.OperationStatus `json:"status"`
}

// storeLabels are those that the store computes; a person's own labels pass through it.
var storeLabels = []string{kube.LabelName, kube.LabelInstance, kube.LabelVersion, kube.LabelComponent,
	kube.LabelManagedBy, v1alpha1.LabelKind, v1alpha1.LabelCluster, v1alpha1.LabelEngine, v1alpha1.LabelPhase}

func encodeCluster(c *v1alpha1.DatabaseCluster, generation int64) (*corev1.ConfigMap, error) {
	own := kube.ObjectLabels(c, kube.ComponentRecord)
	own[v1alpha1.LabelKind], own[v1alpha1.LabelEngine], own[kube.LabelVersion] = kindCluster, c.Spec.Engine,
		c.Spec.Version
	return encode(c.ObjectMeta, v1alpha1.Record(c.Name), own, keyCluster, recordedCluster{Generation: generation,
		Spec: c.Spec, Status: c.Status})
}

func encodeOperation(o *v1alpha1.Operation) (*corev1.ConfigMap, error) {
	r := shortened(recordedOperation{Spec: o.Spec, Status: o.Status})
	phase := o.Status.Phase
	if phase == "" {
		phase = v1alpha1.PhaseRunning
	}
	return encode(o.ObjectMeta, o.Name, map[string]string{
		kube.LabelInstance: o.Spec.Cluster, kube.LabelComponent: kube.ComponentRecord,
		kube.LabelManagedBy: v1alpha1.FieldManager,
		v1alpha1.LabelKind:  kindOperation, v1alpha1.LabelCluster: o.Spec.Cluster, v1alpha1.LabelPhase: string(phase),
	}, keyOperation, r)
}

func encode(from metav1.ObjectMeta, name string, own map[string]string, key string, content any) (*corev1.ConfigMap,
	error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("write record %s/%s: %w", from.Namespace, name, err)
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: from.Namespace, UID: from.UID, ResourceVersion: from.ResourceVersion,
			Labels: kube.Merged(from.Labels, own), Annotations: maps.Clone(from.Annotations),
			OwnerReferences: from.OwnerReferences, Finalizers: from.Finalizers,
		},
		Data: map[string]string{key: string(data)},
	}, nil
}

func decodeCluster(m *corev1.ConfigMap) (*v1alpha1.DatabaseCluster, error) {
	c, err := contentOf(m)
	switch _, ours := m.Data[keyCluster]; {
	case m.Labels[v1alpha1.LabelKind] != kindCluster && !ours:
		return nil, &kube.RequestError{Verb: "read", Resource: "configmaps", Namespace: m.Namespace, Name: m.Name,
			Kind: kube.ErrForeign}
	case err != nil:
		return nil, damaged(m, err)
	}
	for _, label := range [][2]string{{v1alpha1.LabelKind, kindCluster}, {v1alpha1.LabelCluster, c.Name}} {
		if have := m.Labels[label[0]]; have != label[1] {
			return nil, damaged(m, fmt.Errorf("label %s is %q, not %q", label[0], have, label[1]))
		}
	}
	return c, nil
}

// contentOf reads what the record of a cluster says, whatever its labels are.
func contentOf(m *corev1.ConfigMap) (*v1alpha1.DatabaseCluster, error) {
	var r recordedCluster
	if err := json.Unmarshal([]byte(m.Data[keyCluster]), &r); err != nil {
		return nil, fmt.Errorf("%s: %w", keyCluster, err)
	}
	if r.Spec.Engine == "" || r.Spec.Members < 1 {
		return nil, fmt.Errorf("%s: the engine or the number of members is missing", keyCluster)
	}
	c := &v1alpha1.DatabaseCluster{Spec: r.Spec, Status: r.Status}
	c.ObjectMeta = metadata(m)
	c.Name, c.Generation = clusterOf(m), r.Generation
	return c, nil
}

// clusterOf is the name of the cluster that a record is of.
func clusterOf(m *corev1.ConfigMap) string { return strings.TrimSuffix(m.Name, v1alpha1.Record("")) }

// DamagedError says what is wrong with the record of a cluster. It is an ErrDamaged.
type DamagedError struct {
	Namespace, Cluster string
	Err                error
}

func damaged(m *corev1.ConfigMap, why error) error {
	return &DamagedError{Namespace: m.Namespace, Cluster: clusterOf(m), Err: why}
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%v: configmap %s/%s: %v", ErrDamaged, e.Namespace, v1alpha1.Record(e.Cluster), e.Err)
}

// Is makes it an ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns what is wrong.
func (e *DamagedError) Unwrap() error { return e.Err }

// Hint names the command that writes the record again.
func (e *DamagedError) Hint() string {
	return fmt.Sprintf("write the record again from what is there: kubectl dbop repair %s -n %s", e.Cluster, e.Namespace)
}

func decodeOperation(m *corev1.ConfigMap) (*v1alpha1.Operation, error) {
	if m.Labels[v1alpha1.LabelKind] != kindOperation {
		return nil, &kube.RequestError{Verb: "read", Resource: "configmaps", Namespace: m.Namespace, Name: m.Name,
			Kind: kube.ErrForeign}
	}
	var r recordedOperation
	if err := decode(m, keyOperation, &r); err != nil {
		return nil, err
	}
	o := &v1alpha1.Operation{Spec: r.Spec, Status: r.Status}
	o.ObjectMeta = metadata(m)
	return o, nil
}

func decode(m *corev1.ConfigMap, key string, into any) error {
	if err := json.Unmarshal([]byte(m.Data[key]), into); err != nil {
		return fmt.Errorf("%w: %s of configmap %s/%s: %w; kubectl get configmap %s -n %s -o yaml shows it: put it back "+
			"from a copy",
			ErrDamaged, key, m.Namespace, m.Name, err, m.Name, m.Namespace)
	}
	return nil
}

// metadata is the ConfigMap's, with only a person's own labels.
func metadata(m *corev1.ConfigMap) metav1.ObjectMeta {
	meta := *m.ObjectMeta.DeepCopy()
	meta.ManagedFields = nil
	for _, l := range storeLabels {
		delete(meta.Labels, l)
	}
	if len(meta.Labels) == 0 {
		meta.Labels = nil
	}
	return meta
}

// nextGeneration grows when the wanted state did. Quantities are compared by
// value: "1Gi" and "1024Mi" are no change.
func nextGeneration(old, c *v1alpha1.DatabaseCluster) int64 {
	if equality.Semantic.DeepEqual(old.Spec, c.Spec) {
		return old.Generation
	}
	return old.Generation + 1
}

// adoptCluster gives the object the identity that was just stored.
func adoptCluster(c *v1alpha1.DatabaseCluster, m *corev1.ConfigMap) error {
	stored, err := decodeCluster(m)
	if err != nil {
		return err
	}
	c.UID, c.ResourceVersion, c.CreationTimestamp, c.Generation = stored.UID, stored.ResourceVersion,
		stored.CreationTimestamp, stored.Generation
	return nil
}

func adoptOperation(o *v1alpha1.Operation, m *corev1.ConfigMap) {
	o.UID, o.ResourceVersion, o.CreationTimestamp = m.UID, m.ResourceVersion, m.CreationTimestamp
}
