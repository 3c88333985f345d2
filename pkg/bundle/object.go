package bundle

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// lastApplied repeats a whole object, with all that is masked elsewhere.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Object writes an object as YAML without its secrets: values of Secrets are
// replaced by their length, certificates by what they say; literal variables,
// options and annotations that resemble secrets go, and all free text is masked.
func (m *Masker) Object(o client.Object) (string, error) {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return "", fmt.Errorf("write %s %s: %w", kind, o.GetName(), err)
	}
	if kind == "Secret" {
		sealSecret(content)
	}
	m.walk(content)
	raw, err := yaml.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("write %s %s: %w", kind, o.GetName(), err)
	}
	// What was folded or quoted over lines is read once more as it is.
	return m.Text(string(raw)), nil
}

// sealSecret keeps the keys.
func sealSecret(content map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		values, ok := content[field].(map[string]any)
		if !ok {
			continue
		}
		for key, v := range values {
			text, _ := v.(string)
			values[key] = sealed(decoded(field, text))
		}
	}
}

func sealed(value []byte) any {
	if all := certificates(value); len(all) > 0 && !strings.Contains(string(value), "PRIVATE KEY") {
		return all
	}
	return fmt.Sprintf("%s: %d bytes", masked, len(value))
}

// walk masks in place.
func (m *Masker) walk(node any) any {
	switch n := node.(type) {
	case map[string]any:
		m.walkMap(n)
	case []any:
		m.walkList(n)
	case string:
		return m.Text(n)
	}
	return node
}

func (m *Masker) walkMap(n map[string]any) {
	delete(n, "managedFields")
	if name, ok := n["name"].(string); ok {
		// A variable: {name, value}; one that is taken from elsewhere has no value.
		if _, literal := n["value"].(string); literal && !harmless(name) {
			n["value"] = masked
		}
	}
	for key, v := range n {
		text, isText := v.(string)
		switch {
		case key == lastApplied:
			n[key] = masked
		case isText && secretName(key) && !reference(key):
			n[key] = masked
		case isText:
			n[key] = m.Text(text)
		default:
			n[key] = m.walk(v)
		}
	}
}

// reference reports whether a field only names a secret.
func reference(key string) bool {
	return key == "secretName" || strings.HasSuffix(key, "Path")
}

// walkList masks options of a command line, also those whose value is the next word.
func (m *Masker) walkList(n []any) {
	next := false
	for i, v := range n {
		text, isText := v.(string)
		if !isText {
			n[i], next = m.walk(v), false
			continue
		}
		name, _, given := strings.Cut(text, "=")
		option := strings.HasPrefix(name, "-") && secretName(name)
		switch {
		case next && !strings.HasPrefix(text, "-"):
			n[i] = masked
		case option && given:
			n[i] = name + "=" + masked
		default:
			n[i] = m.Text(text)
		}
		next = option && !given
	}
}
