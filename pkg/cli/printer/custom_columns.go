package printer

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// formatColumns is followed by the columns, as kubectl takes them.
const formatColumns = "custom-columns"

// customColumns are the titles of a table, and the JSONPath of each column.
type customColumns struct {
	titles []string
	paths  []*jsonpath.JSONPath
}

// parseColumns reads TITLE:PATH,TITLE:PATH; braces and the first dot of a path
// may be left out.
func parseColumns(spec string) (customColumns, error) {
	var out customColumns
	for column := range strings.SplitSeq(spec, ",") {
		title, path, ok := strings.Cut(column, ":")
		if !ok || title == "" || path == "" {
			return out, exit.Misuse("custom-columns: %q is not TITLE:PATH, such as NAME:.metadata.name", column)
		}
		if !strings.HasPrefix(path, "{") {
			path = "{." + strings.TrimPrefix(path, ".") + "}"
		}
		p := jsonpath.New(title).AllowMissingKeys(true)
		if err := p.Parse(path); err != nil {
			return out, exit.Misuse("custom-columns: path of column %s: %s", title, err)
		}
		out.titles, out.paths = append(out.titles, title), append(out.paths, p)
	}
	return out, nil
}

// print writes one line for each item of a list, or for the object itself.
func (c customColumns) print(w io.Writer, object map[string]any, headless bool) error {
	items, ok := object["items"].([]any)
	if !ok {
		items = []any{object}
	}
	t := &Table{columns: c.titles, headless: headless}
	for _, item := range items {
		row := make([]string, len(c.paths))
		for i, path := range c.paths {
			found, err := path.FindResults(item)
			if err != nil {
				return exit.Misuse("custom-columns: column %s: %s", c.titles[i], err)
			}
			var values []string
			for _, result := range found {
				for _, value := range result {
					values = append(values, fmt.Sprint(value.Interface()))
				}
			}
			row[i] = strings.Join(values, ",")
		}
		t.Row(row...)
	}
	return t.Print(w, "")
}
