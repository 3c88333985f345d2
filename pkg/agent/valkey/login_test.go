//go:build linux

package valkey

import "testing"

func TestAllows(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]bool{
		"on " + hash("secret") + " ~* +@all":                   true,
		"on >other >secret":                                    true,
		"on " + hash("other"):                                  false,
		hash("secret"):                                         false,
		"on " + hash("secret") + " off":                        false,
		"on >secret <secret":                                   false,
		"on >secret !" + hash("secret")[1:]:                    false,
		"on >secret resetpass >other":                          false,
		"on >secret reset on":                                  false,
		"on nopass":                                            true,
		"on nopass >other":                                     false,
		"on nopass resetpass":                                  false,
		"on ~secret":                                           false,
		"off nopass\nuser other on nopass":                     false,
		"on >other\nuser app2 on >secret\nuser x on >secret":   false,
		"on >other >secret\nuser app2 on >other\nuser x reset": true,
	} {
		if got := allows("user default off\nuser app "+rule+"\n", "app", "secret"); got != want {
			t.Errorf("%q allows it: %t", rule, got)
		}
	}
	if allows("user default off\n", "default", "") || allows("", "app", "secret") {
		t.Error("somebody without a rule may log in")
	}
}
