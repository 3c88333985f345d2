package engines_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestImages(t *testing.T) {
	b := clitest.New(t)
	b.Golden("images", b.Run("engines", "images"))
	b.Golden("images_name",
		b.Run("engines", "images", "--engine", "fakedb", "--registry", "mirror.local:5000", "-o", "name"))
	b.Golden("images_unknown", b.Run("engines", "images", "--engine", "nodb"))
	b.Env[command.EnvRegistry] = "mirror.local:5000"
	b.Golden("images_mirrored", b.Run("engines", "images"))
}

// TestImagesAreThoseThatArePulled compares the list with what commands choose.
func TestImagesAreThoseThatArePulled(t *testing.T) {
	for _, named := range []string{"", "example.org/own:1"} {
		b := clitest.New(t)
		b.Env[command.EnvRegistry], b.Env[command.EnvHelperImage] = "mirror.local", named
		r := b.Run("engines", "images", "-o", "json")
		var got struct{ Items []struct{ Target string } }
		if err := json.Unmarshal([]byte(r.Out), &got); err != nil {
			t.Fatalf("%v\n%s", err, r.Out)
		}
		f := b.Factory(&strings.Builder{}, &strings.Builder{}, nil)
		want := map[string]bool{f.HelperImage("", nil): true}
		for _, release := range (opstest.Engine{}).Catalog().Releases {
			want[engine.Mirrored(release.Image, "mirror.local")] = true
		}
		for _, i := range got.Items {
			if !want[i.Target] {
				t.Errorf("%s is listed and never pulled", i.Target)
			}
			delete(want, i.Target)
		}
		for image := range want {
			t.Errorf("%s is pulled and not listed", image)
		}
	}
}
