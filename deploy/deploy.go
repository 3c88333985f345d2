// Package deploy holds the manifests of the operator, for everybody who
// applies them and for 'kubectl dbop operator install'.
package deploy

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed crd/*.yaml operator/namespace.yaml operator/people.yaml operator/rights.yaml operator/operator.yaml
var files embed.FS

// The names in the manifests that an installation may change.
const (
	Namespace = "dbop-system"
	Name      = "dbop-operator"
	// definition names the role that reads the definition of DatabaseCluster alone.
	definition = "dbop-operator-definition"
)

// allowClusterIssuers is the argument of the operator for Options.ClusterIssuers.
const allowClusterIssuers = "--allow-cluster-issuers"

// Options of an installation.
type Options struct {
	// Namespace of the operator, and Image that it and its helper pods run.
	Namespace, Image string
	// Watched are the namespaces that it manages, all for none: then it has
	// rights in these alone.
	Watched []string
	// ClusterIssuers lets custom resources name issuers that are not of their namespace.
	ClusterIssuers bool
	// Replicas of the operator.
	Replicas int64
}

// Manifests are the objects of an installation, in the order in which they are applied.
func Manifests(o Options) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, name := range []string{"crd/dbop.dev_databaseclusters.yaml", "crd/dbop.dev_databasebackups.yaml",
		"operator/namespace.yaml", "operator/people.yaml", "operator/rights.yaml", "operator/operator.yaml"} {
		objects, err := read(name)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	var limited []*unstructured.Unstructured
	for _, u := range out {
		if len(o.Watched) > 0 && u.GetName() != definition && (u.GetKind() == "ClusterRole" ||
			u.GetKind() == "ClusterRoleBinding") {
			limited = append(limited, o.limit(u)...)
			continue
		}
		limited = append(limited, u)
	}
	for _, u := range limited {
		if err := o.place(u); err != nil {
			return nil, fmt.Errorf("prepare %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return limited, nil
}

func read(name string) ([]*unstructured.Unstructured, error) {
	raw, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := d.Decode(&u.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("read manifest %s: %w", name, err)
		}
		out = append(out, u)
	}
}

// limit makes of rights in the whole cluster the same in some namespaces.
// Roles for people stay out: they would be rights in the whole cluster.
func (o Options) limit(u *unstructured.Unstructured) []*unstructured.Unstructured {
	if u.GetName() != Name {
		return nil
	}
	var out []*unstructured.Unstructured
	for _, namespace := range o.Watched {
		n := u.DeepCopy()
		n.SetKind(strings.TrimPrefix(u.GetKind(), "Cluster"))
		n.SetNamespace(namespace)
		if n.GetKind() == "RoleBinding" {
			_ = unstructured.SetNestedField(n.Object, "Role", "roleRef", "kind")
		}
		out = append(out, n)
	}
	return out
}

// place puts an object where this installation is.
func (o Options) place(u *unstructured.Unstructured) error {
	if err := o.apart(u); err != nil {
		return err
	}
	switch {
	case u.GetKind() == "Namespace":
		u.SetName(o.Namespace)
	case u.GetNamespace() == Namespace:
		u.SetNamespace(o.Namespace)
	}
	if subjects, ok, err := unstructured.NestedSlice(u.Object, "subjects"); ok && err == nil {
		for _, s := range subjects {
			if m, ok := s.(map[string]any); ok && m["namespace"] == Namespace {
				m["namespace"] = o.Namespace
			}
		}
		return unstructured.SetNestedSlice(u.Object, subjects, "subjects")
	}
	if u.GetKind() != "Deployment" {
		return nil
	}
	containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		return errors.Join(err, errContainers)
	}
	c, ok := containers[0].(map[string]any)
	if !ok {
		return errContainers
	}
	args := []any{"operator", "run", "--lease-namespace=" + o.Namespace}
	for _, namespace := range slices.Sorted(slices.Values(o.Watched)) {
		args = append(args, "--watch="+namespace)
	}
	if o.ClusterIssuers {
		args = append(args, allowClusterIssuers)
	}
	c["args"], c["image"] = args, o.Image
	c["env"] = []any{map[string]any{"name": "DBOP_HELPER_IMAGE", "value": o.Image}}
	return errors.Join(unstructured.SetNestedSlice(u.Object, containers, "spec", "template", "spec", "containers"),
		unstructured.SetNestedField(u.Object, o.Replicas, "spec", "replicas"))
}

// apart gives an installation elsewhere a role in the whole cluster of its own,
// so that the removal of one takes no right from another.
func (o Options) apart(u *unstructured.Unstructured) error {
	if u.GetName() != definition || o.Namespace == Namespace {
		return nil
	}
	u.SetName(definition + "-" + o.Namespace)
	if u.GetKind() != "ClusterRoleBinding" {
		return nil
	}
	return unstructured.SetNestedField(u.Object, u.GetName(), "roleRef", "name")
}

var errContainers = errors.New("it has not exactly one container")
