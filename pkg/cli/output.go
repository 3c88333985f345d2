package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// The output formats that this package prints itself.
const (
	formatWide = "wide"
	formatName = "name"
)

// The identity of machine output.
const (
	outputVersion = "dbop.dev/v1alpha1"
	kindCluster   = "DatabaseCluster"
	kindOperation = "Operation"
)

// output is the flag -o. Formats for machines are printed by cli-runtime.
type output struct {
	flags *genericclioptions.PrintFlags
	own   []string
	// tables: people are shown a table. Its titles are left out with --no-headers.
	tables, noHeaders bool
}

// newOutput accepts own formats besides json, yaml and templates.
func newOutput(own ...string) *output {
	flags := genericclioptions.NewPrintFlags("")
	flags.NamePrintFlags = nil
	return &output{flags: flags, own: own}
}

// newTables is newOutput for a command that prints a table.
func newTables(own ...string) *output {
	o := newOutput(own...)
	o.tables = true
	return o
}

// newTable begins a table in the form that was asked for.
func (o *output) newTable(columns ...string) *table {
	return &table{columns: columns, headless: o.noHeaders}
}

func (o *output) addTo(cmd *cobra.Command) {
	o.flags.JSONYamlPrintFlags.AddFlags(cmd)
	o.flags.TemplatePrinterFlags.AddFlags(cmd)
	cmd.Flags().StringVarP(o.flags.OutputFormat, "output", "o", "", "Output format. One of: "+strings.Join(o.allowed(), ", ")+".")
	if o.tables {
		cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Leave out the titles of the columns.")
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.allowed(), cobra.ShellCompDirectiveNoFileComp))
}

func (o *output) allowed() []string {
	all := slices.Concat(o.own, o.flags.JSONYamlPrintFlags.AllowedFormats(), o.flags.TemplatePrinterFlags.AllowedFormats())
	if o.tables {
		all = append(all, formatColumns)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// check refuses an unknown format; commands call it before anything else.
func (o *output) check() error {
	if o.human() {
		return nil
	}
	if columns, ok := o.columns(); ok {
		_, err := parseColumns(columns)
		return err
	}
	if _, err := o.flags.JSONYamlPrintFlags.ToPrinter(o.format()); err == nil {
		return nil
	}
	_, err := o.flags.TemplatePrinterFlags.ToPrinter(o.format())
	switch {
	case err == nil:
		return nil
	case genericclioptions.IsNoCompatiblePrinterError(err):
		return misuse("output format %q is not known, choose one of: %s", o.format(), strings.Join(o.allowed(), ", "))
	}
	return &usageError{text: err.Error()}
}

func (o *output) format() string {
	format := *o.flags.OutputFormat
	if t := o.flags.TemplatePrinterFlags.TemplateArgument; format == "" && t != nil && *t != "" {
		return "go-template"
	}
	return format
}

func (o *output) wide() bool { return o.format() == formatWide }
func (o *output) name() bool { return o.format() == formatName }

// human reports whether this package prints, rather than cli-runtime.
func (o *output) human() bool { return o.format() == "" || slices.Contains(o.own, o.format()) }

// columns are the custom columns that were asked for.
func (o *output) columns() (string, bool) {
	format, columns, _ := strings.Cut(o.format(), "=")
	return columns, o.tables && format == formatColumns
}

// print writes a value for a machine. A value without apiVersion and kind of
// its own gets those of this command line.
func (o *output) print(w io.Writer, kind string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print %s: %w", kind, err)
	}
	object := map[string]any{}
	if err := k8sjson.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("print %s: %w", kind, err)
	}
	object["apiVersion"], object["kind"] = outputVersion, kind
	if spec, ok := o.columns(); ok {
		columns, err := parseColumns(spec)
		if err != nil {
			return err
		}
		return columns.print(w, object, o.noHeaders)
	}
	if *o.flags.OutputFormat == "" {
		*o.flags.OutputFormat = o.format()
	}
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return &usageError{text: err.Error()}
	}
	return printer.PrintObj(&unstructured.Unstructured{Object: object}, w)
}

// list is how several things are printed for a machine.
type list[T any] struct {
	Items []T `json:"items"`
}
