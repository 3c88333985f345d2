package cluster_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// speaking is an engine whose program in a pod takes the password of a user from a file. Its users have databases.
type speaking struct{ opstest.Engine }

func (speaking) Capabilities() engine.Capabilities {
	c := opstest.Engine{}.Capabilities()
	c.SQL = true
	return c
}

func (speaking) Way(*v1alpha1.DatabaseCluster) engine.ClientWay {
	return engine.ClientWay{Secrets: "/memory"}
}

func (speaking) InPod(_ *v1alpha1.DatabaseCluster, as engine.ClientLogin, args []string) []string {
	return slices.Concat([]string{"sql", "user=" + as.User.Name, "file=" + as.PasswordFile, "in=" + as.Database}, args)
}

// speakingBench has a cluster my-db with the user billing, and notes what is executed and what it reads.
func speakingBench(t *testing.T, fails string) (*clitest.Bench, *[]string) {
	t.Helper()
	b := clitest.New(t)
	b.Engines = []engine.Engine{speaking{}}
	b.CreateCluster("my-db")
	b.AddPods("my-db", "my-db-1")
	b.Must("user", "auth", "enable", "my-db", "--yes", "--progress", "none")
	b.Must("user", "create", "my-db", "billing", "--progress", "none")
	var ran []string
	b.Executing = func(argv []string, s progress.Streams) error {
		line := strings.Join(argv, " ")
		if argv[0] == "sh" {
			raw, err := io.ReadAll(s.In)
			if err != nil {
				return err
			}
			line = "keep " + argv[len(argv)-1] + " <" + string(raw)
			_, _ = io.WriteString(s.Out, "/memory/connect.1\n")
		}
		ran = append(ran, line)
		if fails != "" && strings.HasPrefix(line, fails) {
			return errors.New("it is gone")
		}
		return nil
	}
	return b, &ran
}

// TestConnectAsAUser: the password gets into the pod as the input of a program, never in arguments. What nobody took is
// removed.
func TestConnectAsAUser(t *testing.T) {
	for name, test := range map[string]struct {
		args  []string
		fails string
		want  []string
		code  int
	}{
		"the administrator": {nil, "", []string{"sql user= file= in="}, exit.Done},
		"a database":        {[]string{"--database", "shop"}, "", []string{"sql user= file= in=shop"}, exit.Done},
		"a user, as a rotation named it": {[]string{"--login", "billing", "--", "-c", "x"}, "", []string{
			"keep /memory <s3cret-billing", "sql user=billing.2 file=/memory/connect.1 in= -c x"}, exit.Done},
		"a pod that takes no password": {[]string{"--login", "billing"}, "keep",
			[]string{"keep /memory <s3cret-billing"}, exit.Failed},
		"a program that does not start": {[]string{"--login", "billing"}, "sql", []string{"keep /memory <s3cret-billing",
			"sql user=billing.2 file=/memory/connect.1 in=", "rm -f /memory/connect.1"}, exit.Failed},
		"somebody else's user": {[]string{"--login", "theirs"}, "", nil, exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			b, ran := speakingBench(t, test.fails)
			r := b.Run(append([]string{"connect", "my-db"}, test.args...)...)
			if diff := cmp.Diff(test.want, *ran); diff != "" || r.Code != test.code {
				t.Errorf("exit %d, (-want +got):\n%s%s", r.Code, diff, r.Err)
			}
			if strings.Contains(r.Out+r.Err, "s3cret") {
				t.Errorf("it prints the password: %s%s", r.Out, r.Err)
			}
		})
	}
}

func TestConnectAsAUserByHand(t *testing.T) {
	b, _ := speakingBench(t, "")
	r := b.Run("connect", "my-db", "--login", "billing", "--database", "shop", "--no-exec")
	if r.Out != "kubectl exec -it -n shop my-db-1-0 -- sql user=billing file= in=shop\n" ||
		r.Err != "the password is in secret my-db-user-billing\n" {
		t.Errorf("%s%s", r.Out, r.Err)
	}
}

func TestConnectRefusesUsers(t *testing.T) {
	b, _ := speakingBench(t, "")
	r := b.Run("connect", "my-db", "--login", "theirs")
	if r.Code != exit.Usage || !strings.Contains(r.Err, `no user "theirs"`) ||
		!strings.Contains(r.Err, "root, client, billing") {
		t.Errorf("exit %d: %s", r.Code, r.Err)
	}
	plain := clitest.New(t)
	plain.CreateCluster("my-db")
	plain.AddPods("my-db", "my-db-1")
	r = plain.Run("connect", "my-db", "--login", "client")
	if r.Code != exit.Refused || !strings.Contains(r.Err, "user auth enable my-db") {
		t.Errorf("exit %d: %s", r.Code, r.Err)
	}
	r = plain.Run("connect", "my-db", "--database", "shop")
	if r.Code != exit.Usage || !strings.Contains(r.Err, "fakedb has no databases") {
		t.Errorf("exit %d: %s", r.Code, r.Err)
	}
}
