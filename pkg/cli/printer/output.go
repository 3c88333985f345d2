package printer

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

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// The output formats that this package prints itself.
const (
	FormatWide = "wide"
	FormatName = "name"
)

// The identity of machine output.
const (
	OutputVersion = "dbop.dev/v1alpha1"
	KindCluster   = "DatabaseCluster"
	KindOperation = "Operation"
)

// Output is the flag -o. Formats for machines are printed by cli-runtime.
type Output struct {
	flags *genericclioptions.PrintFlags
	own   []string
	// tables: people are shown a table. Its titles are left out with --no-headers.
	tables, noHeaders bool
}

// NewOutput accepts own formats besides json, yaml and templates.
func NewOutput(own ...string) *Output {
	flags := genericclioptions.NewPrintFlags("")
	flags.NamePrintFlags = nil
	return &Output{flags: flags, own: own}
}

// NewTables is newOutput for a command that prints a table.
func NewTables(own ...string) *Output {
	o := NewOutput(own...)
	o.tables = true
	return o
}

// NewTable begins a table in the requested form.
func (o *Output) NewTable(columns ...string) *Table {
	return &Table{columns: columns, headless: o.noHeaders}
}

func (o *Output) AddTo(cmd *cobra.Command) {
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.Check() }
	o.flags.JSONYamlPrintFlags.AddFlags(cmd)
	o.flags.TemplatePrinterFlags.AddFlags(cmd)
	cmd.Flags().StringVarP(o.flags.OutputFormat, "output", "o", "",
		"Output format. One of: "+strings.Join(o.allowed(), ", ")+".")
	// They are for templates, and would make every help longer.
	for _, name := range []string{"show-managed-fields", "template", "allow-missing-template-keys"} {
		_ = cmd.Flags().MarkHidden(name)
	}
	if o.tables {
		cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Leave out the titles of the columns.")
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.allowed(), cobra.ShellCompDirectiveNoFileComp))
}

func (o *Output) allowed() []string {
	all := slices.Concat(o.own, o.flags.JSONYamlPrintFlags.AllowedFormats(),
		o.flags.TemplatePrinterFlags.AllowedFormats())
	if o.tables {
		all = append(all, formatColumns)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Check refuses an unknown format. It runs before the command does.
func (o *Output) Check() error {
	if o.Human() {
		return nil
	}
	if columns, ok := o.columns(); ok {
		_, err := parseColumns(columns)
		return err
	}
	if _, err := o.flags.JSONYamlPrintFlags.ToPrinter(o.Format()); err == nil {
		return nil
	}
	_, err := o.flags.TemplatePrinterFlags.ToPrinter(o.Format())
	switch {
	case err == nil:
		return nil
	case genericclioptions.IsNoCompatiblePrinterError(err):
		return exit.Misuse("output format %q is not known, choose one of: %s", o.Format(), strings.Join(o.allowed(), ", "))
	}
	return &exit.UsageError{Text: err.Error()}
}

func (o *Output) Format() string {
	format := *o.flags.OutputFormat
	if t := o.flags.TemplatePrinterFlags.TemplateArgument; format == "" && t != nil && *t != "" {
		return "go-template"
	}
	return format
}

func (o *Output) Wide() bool { return o.Format() == FormatWide }

func (o *Output) Name() bool { return o.Format() == FormatName }

// Human reports whether this package prints, rather than cli-runtime.
func (o *Output) Human() bool { return o.Format() == "" || slices.Contains(o.own, o.Format()) }

// columns are the custom columns that were asked for.
func (o *Output) columns() (string, bool) {
	format, columns, _ := strings.Cut(o.Format(), "=")
	return columns, o.tables && format == formatColumns
}

// Print writes a value for a machine. A value without apiVersion and kind of
// its own gets those of this command line.
func (o *Output) Print(w io.Writer, kind string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print %s: %w", kind, err)
	}
	object := map[string]any{}
	if err := k8sjson.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("print %s: %w", kind, err)
	}
	object["apiVersion"], object["kind"] = OutputVersion, kind
	if spec, ok := o.columns(); ok {
		columns, err := parseColumns(spec)
		if err != nil {
			return err
		}
		return columns.print(w, object, o.noHeaders)
	}
	if *o.flags.OutputFormat == "" {
		*o.flags.OutputFormat = o.Format()
	}
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return &exit.UsageError{Text: err.Error()}
	}
	return printer.PrintObj(&unstructured.Unstructured{Object: object}, w)
}

// List is how several things are printed for a machine.
type List[T any] struct {
	Items []T `json:"items"`
}
