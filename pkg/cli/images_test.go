package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestImages(t *testing.T) {
	b := newBench(t)
	b.golden("images", b.run("images"))
	b.golden("images_name", b.run("images", "--engine", "fakedb", "--registry", "mirror.local:5000", "-o", "name"))
	b.golden("images_unknown", b.run("images", "--engine", "nodb"))
	b.env[envRegistry] = "mirror.local:5000"
	b.golden("images_mirrored", b.run("images"))
}

// TestImagesAreThoseThatArePulled compares the list with what commands choose.
func TestImagesAreThoseThatArePulled(t *testing.T) {
	for _, named := range []string{"", "example.org/own:1"} {
		b := newBench(t)
		b.env[envRegistry], b.env[envHelperImage] = "mirror.local", named
		r := b.run("images", "-o", "json")
		var got list[imageSheet]
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Fatalf("%v\n%s", err, r.out)
		}
		f := b.factory(&strings.Builder{}, &strings.Builder{}, nil)
		want := map[string]bool{f.helperImage("", nil): true}
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
