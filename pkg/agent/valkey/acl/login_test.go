//go:build linux

package acl

import "testing"

func TestAllows(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]bool{
		"on " + Hash("secret") + " ~* +@all":                   true,
		"on >other >secret":                                    true,
		"on " + Hash("other"):                                  false,
		Hash("secret"):                                         false,
		"on " + Hash("secret") + " off":                        false,
		"on >secret <secret":                                   false,
		"on >secret !" + Hash("secret")[1:]:                    false,
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
		if got := Allows("user default off\nuser app "+rule+"\n", "app", "secret"); got != want {
			t.Errorf("%q allows it: %t", rule, got)
		}
	}
	if Allows("user default off\n", "default", "") || Allows("", "app", "secret") {
		t.Error("somebody without a rule may log in")
	}
}
