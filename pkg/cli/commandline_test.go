package cli_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
)

func TestCommandLineRepeatsWhatWasAsked(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"scale", "my-db", "--members", "5"}, "kubectl dbop scale my-db --members 5"},
		{[]string{"backup", "my-db", "--to", "/a b", "-n", "it's"},
			`kubectl dbop backup my-db --namespace 'it'\''s' --to '/a b'`},
		{[]string{"--token", "x", "delete", "my-db", "-y", "--purge"}, "kubectl dbop delete my-db --purge --yes"},
		{[]string{"create", "my-db", "--engine=etcd", "--config", "a=1", "--config", "b=2", "--no-tls=false"},
			"kubectl dbop create my-db --config a=1,b=2 --engine etcd --no-tls=false"},
		{[]string{"configure", "my-db", "--set", "a=1,2", "--set", "b=x"},
			"kubectl dbop configure my-db --set a=1,2 --set b=x"},
		{[]string{"certificates", "rotate", "my-db", "--ca"}, "kubectl dbop certificates rotate my-db --ca"},
		{[]string{"certificates", "rotate", "my-db", "--ca=finish"}, "kubectl dbop certificates rotate my-db --ca=finish"},
		{[]string{"restart", "my-db", "--as", "admin", "--kubeconfig", "/home/ada/k", "--server", "https://ada:pw@k"},
			"kubectl dbop restart my-db"},
	} {
		b := clitest.New(t)
		cmd, args, err := cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil)).Find(test.args)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		got := command.Line(cmd, cmd.Flags().Args())
		if got != test.want {
			t.Errorf("%v: %s, want %s", test.args, got, test.want)
		}
		// What is recorded is a command that says the same again.
		again := cli.NewRoot(b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil))
		same, rest, err := again.Find(shellQuoted(strings.TrimPrefix(got, command.DisplayName+" ")))
		if err != nil || same.ParseFlags(rest) != nil || command.Line(same, same.Flags().Args()) != got {
			t.Errorf("%s does not read back: %v", got, err)
		}
	}
}

// shellQuoted splits what words joined.
func shellQuoted(line string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.ReplaceAll(line, `'\''`, "\x00"), "'") {
		if len(out) > 0 && out[len(out)-1] == "" {
			out[len(out)-1] = part
			continue
		}
		out = append(out, strings.Fields(part)...)
		if strings.HasSuffix(part, " ") {
			out = append(out, "")
		}
	}
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "\x00", "'")
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// credentialFlags are kubectl's flags that may hold a secret, or tell whose rights are used.
func credentialFlags() []string {
	return []string{"token", "username", "password", "client-key", "client-certificate", "as", "as-group", "as-uid",
		"as-user-extra", "server", "user"}
}

// TestNoCommandRecordsCredentials types a marker into every flag of kubectl's
// that takes text, in every command.
func TestNoCommandRecordsCredentials(t *testing.T) {
	const marker = "MARKER-9f3a"
	seen := 0
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		cmd.InheritedFlags()
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if cmd.LocalNonPersistentFlags().Lookup(f.Name) != nil || f.Name == "namespace" {
				return
			}
			if err := cmd.Flags().Set(f.Name, marker+"="+f.Name); err == nil {
				seen++
			}
		})
		if line := command.Line(cmd, []string{"my-db"}); strings.Contains(line, marker) {
			t.Errorf("recorded: %s", line)
		}
	})
	if seen == 0 {
		t.Error("no flag took the marker")
	}
}

// TestNoOwnFlagHoldsASecret keeps secrets out of the flags that are recorded:
// they name Secrets, and never say what is in one.
func TestNoOwnFlagHoldsASecret(t *testing.T) {
	walk(t, func(t *testing.T, cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(credentialFlags(), f.Name) {
				t.Errorf("--%s hides kubectl's", f.Name)
			}
			for _, word := range []string{"password", "token", "private", "credential", "passphrase", "key"} {
				if f.Value.Type() == "string" && strings.HasSuffix(f.Name, word) {
					t.Errorf("--%s takes a secret", f.Name)
				}
			}
		})
	})
}

// TestCredentialsLeaveNoTrace runs commands with credentials, of which some fail,
// and reads everything they wrote.
func TestCredentialsLeaveNoTrace(t *testing.T) {
	const marker = "MARKER-9f3a"
	b := clitest.New(t)
	b.CreateCluster("my-db")
	var credentials []string
	for _, name := range []string{"token", "as", "as-group", "as-uid", "user"} {
		credentials = append(credentials, "--"+name+"="+marker+name)
	}
	for _, args := range [][]string{
		{"scale", "my-db", "--members", "5"}, {"backup", "my-db"}, {"restart", "my-db"},
		{"upgrade", "my-db", "--version", "9.9"},
		{"backup", "my-db", "--scheduled"}, {"pause", "my-db"}, {"history", "my-db"}, {"status", "my-db"}, {"list"},
		{"delete", "my-db", "--yes"},
		{"scale", "my-db", "--members"}, {"support-bundle", "my-db", "--file", b.Dir + "/bundle.tar.gz"},
	} {
		r := b.Run(append(slices.Clone(credentials), args...)...)
		if strings.Contains(r.Out+r.Err, marker) {
			t.Errorf("%v printed it:\n%s%s", args, r.Out, r.Err)
		}
	}
	var records corev1.ConfigMapList
	if err := b.API.List(t.Context(), &records); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, r := range records.Items {
		text := fmt.Sprint(r)
		commands += strings.Count(text, `command":"kubectl dbop`) + strings.Count(text, "command: kubectl dbop")
		if strings.Contains(text, marker) {
			t.Errorf("record %s holds it:\n%s", r.Name, text)
		}
	}
	if commands < 4 {
		t.Errorf("only %d records tell their command", commands)
	}
}
