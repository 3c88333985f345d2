package etcd

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Explainer = (*Engine)(nil)

// lastWords are what etcd says before it exits, as far as one remedy follows.
var lastWords = []struct {
	// any of these is in the words.
	any     []string
	meaning string
	// replace says that a new copy of the data is the remedy; else it is this one.
	replace bool
	remedy  string
}{
	{any: []string{"found data inconsistency with peers", "member has data inconsistency with peers"},
		meaning: "its data differs from the others': it is damaged", replace: true},
	{any: []string{"crc mismatch", "invalid database", "checksum error", "file size too small", "unexpected page type",
		"page already freed"},
		meaning: "its files are damaged", replace: true},
	{any: []string{"failed to find database snapshot file", "max entry size limit exceeded", "walpb:",
		"snap: no available snapshot"},
		meaning: "parts of its data are missing or can't be read", replace: true},
	{any: []string{"flag provided but not defined", "unknown flag"},
		meaning: "it does not know an option that it is started with: its image is of another version than its " +
			"name says, or the option is mistyped",
		remedy: "check the image and the options"},
	{any: []string{"permission denied"},
		meaning: "it may not read its own files", remedy: "check who owns the files on its volume; nothing is lost"},
}

// Explain implements engine.Explainer.
func (*Engine) Explain(c *v1alpha1.DatabaseCluster, member, words string) (engine.Advice, bool) {
	for _, known := range lastWords {
		for _, text := range known.any {
			if !strings.Contains(words, text) {
				continue
			}
			if known.replace {
				return engine.Advice{Meaning: known.meaning, Remedy: []string{fmt.Sprintf(
					"if a majority is well: kubectl dbop member replace %s %s", c.Name, member)}}, true
			}
			return engine.Advice{Meaning: known.meaning, Remedy: []string{known.remedy}}, true
		}
	}
	return engine.Advice{}, false
}
