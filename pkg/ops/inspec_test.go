package ops

import "testing"

func TestInSpec(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"choose 3 or 5, or insist with --force": "choose 3 or 5, or insist with spec.waive: [size]",
		"add members first, or accept it: --allow-downtime": "add members first, or accept it: spec.waive: " +
			"[downtime]",
		"kubectl dbop status db shows why; --skip-backup goes on": "kubectl dbop status db shows why; spec.waive: " +
			"[backup] goes on",
		"--cpu 512M is more than --cpu-limit 1": "spec.resources.requests.cpu 512M is more than " +
			"spec.resources.limits.cpu 1",
		"kubectl dbop resize db --storage 8Gi; or choose --storage": "kubectl dbop resize db --storage 8Gi; or choose " +
			"spec.storage.size",
		"'kubectl dbop scale db --members 3', not --members 4": "'kubectl dbop scale db --members 3', not " +
			"spec.members 4",
		"kubectl get pods -l a=b --watch": "kubectl get pods -l a=b --watch",
		"name one with --storage-class: fast, or set --set quota=1": "name one with spec.storage.className: fast, or set " +
			"spec.config quota=1",
		"": "",
	} {
		if got := InSpec(text); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}
