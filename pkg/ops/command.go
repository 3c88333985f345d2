package ops

import (
	"regexp"
	"slices"
	"strings"
)

// InNamespace completes every suggested command inside a text: it writes
// `-n namespace` after the words that name the program, except where the
// command has a namespace already, asks for all of them, or needs none. What is
// no command stays as it is, and a second call changes nothing.
func InNamespace(text, namespace string) string {
	if namespace == "" {
		return text
	}
	return rewrite(text, func(c Command) []string {
		if c.scopeless() || c.has("-n", "--namespace", "-A", "--all-namespaces") {
			return nil
		}
		return []string{"-n", namespace}
	})
}

// WithFlag writes a flag after the words that name the program in every
// suggested command inside a text, except where the command has it.
func WithFlag(text, flag, value string) string {
	return rewrite(text, func(c Command) []string {
		if c.has(flag) {
			return nil
		}
		return []string{flag, value}
	})
}

// Command is one suggested command inside a text.
type Command struct {
	// Ours is whether it is one of this plugin.
	Ours bool
	// Args are the words behind the name of the program. Words of the sentence
	// may follow them: nothing tells where a command ends.
	Args []string
}

// Programs matches the words that name a program.
var Programs = regexp.MustCompile(`(^|[^\w./-])(kubectl dbop|kubectl-dbop|kubectl) `)

// rewrite inserts words behind the name of the program of each command.
func rewrite(text string, insert func(Command) []string) string {
	var out strings.Builder
	from := 0
	found := Programs.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		c := Command{Ours: text[at[4]:at[5]] != "kubectl", Args: CommandWords(text[at[1]:end])}
		if !c.real() {
			continue
		}
		out.WriteString(text[from:at[1]])
		from = at[1]
		for _, word := range insert(c) {
			out.WriteString(word + " ")
		}
	}
	out.WriteString(text[from:])
	return out.String()
}

// CommandWords are the words up to the first that must be the sentence's.
func CommandWords(text string) []string {
	line, _, _ := strings.Cut(text, "\n")
	var words []string
	for word := range strings.FieldsSeq(line) {
		if word == "--" || word == "|" || strings.HasPrefix(word, "(") {
			break
		}
		bare := strings.TrimRight(word, ",;:.'`)")
		words = append(words, bare)
		if bare != word {
			break
		}
	}
	return words
}

// verbs are those of kubectl that are suggested and work in a namespace.
var verbs = []string{"annotate", "apply", "attach", "auth", "create", "cp", "debug", "delete", "describe", "edit",
	"events", "exec", "get", "label",
	"logs", "patch", "port-forward", "replace", "rollout", "scale", "set", "top", "wait"}

// elsewhere are those of kubectl that are suggested and work in none.
var elsewhere = []string{"cluster-info", "config", "cordon", "drain", "plugin", "taint", "uncordon", "version"}

// wide are the kinds that belong to no namespace, as kubectl spells them.
var wide = []string{"clusterissuer", "clusterrole", "clusterrolebinding", "crd", "customresourcedefinition",
	"namespace", "no", "node", "ns",
	"persistentvolume", "priorityclass", "pv", "storageclass"}

// real reports whether the words are a command, neither a sentence about one
// nor a synopsis.
func (c Command) real() bool {
	if slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "[") }) {
		return false
	}
	verb := c.Word(0)
	if c.Ours {
		return verb != ""
	}
	return slices.Contains(verbs, verb) || slices.Contains(elsewhere, verb)
}

// scopeless reports whether the command works in no namespace.
func (c Command) scopeless() bool {
	if c.Ours {
		switch c.Word(0) {
		case "operator":
			return c.Word(1) != "adopt" && c.Word(1) != "release"
		case "completion", "engines", "help", "images", "reference", "version":
			return true
		}
		return slices.Contains(c.Args, "--help")
	}
	switch verb := c.Word(0); {
	case slices.Contains(elsewhere, verb):
		return true
	case verb == "auth":
		return c.Word(1) == "whoami"
	case verb == "logs":
		return false
	}
	// A file says itself which namespace it is for.
	if c.has("-f", "--filename", "-k") {
		return true
	}
	kind, _, _ := strings.Cut(strings.ToLower(c.Word(1)), "/")
	kind, _, _ = strings.Cut(kind, ".")
	singular := strings.TrimSuffix(kind, "s")
	return slices.Contains(wide, kind) || slices.Contains(wide, singular) ||
		slices.Contains(wide, strings.TrimSuffix(singular, "e"))
}

// globals are the flags whose value may stand before the verb.
var globals = []string{"-n", "--namespace", "--context", "--kubeconfig"}

// Word is the i-th word that is neither a flag nor the value of a global one.
func (c Command) Word(i int) string {
	for at := 0; at < len(c.Args); at++ {
		switch {
		case slices.Contains(globals, c.Args[at]):
			at++
		case strings.HasPrefix(c.Args[at], "-"):
		case i == 0:
			return c.Args[at]
		default:
			i--
		}
	}
	return ""
}

// has reports whether one of the flags is given.
func (c Command) has(flags ...string) bool {
	return slices.ContainsFunc(c.Args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(flags, name)
	})
}
