package ops

import (
	"regexp"
	"strings"
)

// flagWord is a flag between the words of a sentence.
var flagWord = regexp.MustCompile(`--[a-z][a-z-]*`)

// InSpec says in a text for people who write custom resources which field of
// the spec is meant by a flag. Whole commands stay as they are.
func InSpec(text string) string {
	fields := strings.NewReplacer(
		"--allow-downtime", "spec.waive: [downtime]",
		"--skip-backup", "spec.waive: [backup]",
		"--force", "spec.waive: [size]",
		"--cpu-limit", "spec.resources.limits.cpu",
		"--memory-limit", "spec.resources.limits.memory",
		"--cpu", "spec.resources.requests.cpu",
		"--memory", "spec.resources.requests.memory",
		"--storage-class", "spec.storage.className",
		"--storage", "spec.storage.size",
		"--helper-image", "spec.helperImage",
		"--image", "spec.image",
		"--registry", "spec.registry",
		"--repository", "spec.backup.repository",
		"--version", "spec.version",
		"--members", "spec.members",
		"--set", "spec.config",
		"--ca-secret", "spec.tls.caSecret",
	)
	var out strings.Builder
	from := 0
	for _, at := range Programs.FindAllStringIndex(text, -1) {
		if at[1] < from {
			continue
		}
		out.WriteString(flagWord.ReplaceAllStringFunc(text[from:at[0]], fields.Replace))
		from = at[1] + commandLength(text[at[1]:])
		out.WriteString(text[at[0]:from])
	}
	out.WriteString(flagWord.ReplaceAllStringFunc(text[from:], fields.Replace))
	return out.String()
}

// commandLength is how much of a text the words of a command take.
func commandLength(text string) int {
	length := 0
	for _, word := range CommandWords(text) {
		length += strings.Index(text[length:], word) + len(word)
	}
	return length
}
