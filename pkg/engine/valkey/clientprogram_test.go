package valkey

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestInPod(t *testing.T) {
	t.Parallel()
	amy := engine.User{Name: "amy"}
	const socket = "valkey-cli -s /run/dbop/sockets/server.sock --user "
	for name, test := range map[string]struct {
		as   engine.ClientLogin
		want string
	}{
		"the administrator": {engine.ClientLogin{}, `sh -c REDISCLI_AUTH=$(cat "$1") && export REDISCLI_AUTH && shift && ` +
			`exec "$@" sh /run/dbop/sockets/password ` + socket + "dbop-person --no-auth-warning GET k"},
		"a user": {engine.ClientLogin{User: amy, PasswordFile: "/dev/shm/f"}, `sh -c REDISCLI_AUTH=$(cat "$1") && ` +
			`rm "$1" && export REDISCLI_AUTH && shift && exec "$@" sh /dev/shm/f ` + socket + "amy --no-auth-warning GET k"},
		"a user who is asked": {engine.ClientLogin{User: amy}, socket + "amy --askpass GET k"},
	} {
		if got := strings.Join(New().InPod(nil, test.as, []string{"GET", "k"}), " "); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}
