package archive

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// name is the last part of a key: a leading identifier and fields of one letter, such as
// "01KAF..._e-etcd_v-3.6.1.json". Fields of letters that this version does not know are ignored.
type name struct {
	lead   string
	fields []field
}

type field struct {
	letter byte
	value  string
}

// escape keeps letters, digits, "." and "-"; every other byte becomes "!" and two hexadecimal digits. The first
// byte is never a dot.
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			b.WriteString("!" + hex.EncodeToString([]byte{c}))
		}
	}
	return b.String()
}

// unescape accepts only what escape makes, and refuses control characters: names are shown to people.
func unescape(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '!' {
			if i+3 > len(text) {
				return "", false
			}
			raw, err := hex.DecodeString(text[i+1 : i+3])
			if err != nil {
				return "", false
			}
			c, i = raw[0], i+2
		}
		b.WriteByte(c)
	}
	out := b.String()
	return out, escape(out) == text && printable(out)
}

// String joins the fields. Empty ones are left out.
func (n name) String() string {
	var b strings.Builder
	b.WriteString(escape(n.lead))
	for _, f := range n.fields {
		if f.value != "" {
			b.WriteString("_" + string(f.letter) + "-" + escape(f.value))
		}
	}
	return b.String()
}

// fits leaves fields out, the last ones first, until the name fits, and fails if one of the first required is lost.
func (n name) fits(required int) (string, error) {
	const room = store.MaxSegment - len(".json")
	for {
		text := n.String()
		if len(text) <= room {
			return text, nil
		}
		if len(n.fields) <= required {
			return "", fmt.Errorf("name %.60q... has %d bytes and %d are allowed; use shorter names", text, len(text), room)
		}
		n.fields = n.fields[:len(n.fields)-1]
	}
}

// parseName reads a name. Each letter may come once.
func parseName(text string) (lead string, fields map[byte]string, ok bool) {
	parts := strings.Split(text, "_")
	if lead, ok = unescape(parts[0]); !ok || lead == "" {
		return "", nil, false
	}
	fields = map[byte]string{}
	for _, p := range parts[1:] {
		if len(p) < 3 || p[1] != '-' || p[0] < 'a' || p[0] > 'z' {
			return "", nil, false
		}
		value, ok := unescape(p[2:])
		if _, twice := fields[p[0]]; !ok || twice {
			return "", nil, false
		}
		fields[p[0]] = value
	}
	return lead, fields, true
}

// parseKey splits "kind/namespace/cluster/rest.json", and takes the suffix off.
func parseKey(kind, key string) (scope Scope, rest string, ok bool) {
	key, ok = strings.CutSuffix(key, ".json")
	parts := strings.SplitN(key, "/", 4)
	if !ok || len(parts) != 4 || parts[0] != kind {
		return Scope{}, "", false
	}
	var namespace, cluster bool
	scope.Namespace, namespace = parseSegment(parts[1])
	scope.Cluster, cluster = parseSegment(parts[2])
	return scope, parts[3], namespace && cluster
}

// parseSegment reads a part of a key. The empty name is written "!": an empty part is nobody's.
func parseSegment(text string) (string, bool) {
	switch text {
	case "":
		return "", false
	case "!":
		return "", true
	}
	return unescape(text)
}

// isAttempt reports whether a text is a ULID as this tool writes it.
func isAttempt(text string) bool {
	_, err := ulid.ParseStrict(text)
	return err == nil && text == strings.ToUpper(text)
}
