package ops

import (
	"strings"
	"testing"
)

func TestInNamespace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"kubectl dbop status db2":        "kubectl dbop -n prod status db2",
		"kubectl-dbop status db2":        "kubectl-dbop -n prod status db2",
		"kubectl describe pod x":         "kubectl -n prod describe pod x",
		"kubectl describe pod x -n shop": "kubectl describe pod x -n shop",
		"kubectl describe pod x --namespace=shop":                           "kubectl describe pod x --namespace=shop",
		"kubectl get statefulsets -A; or kubectl get pvc":                   "kubectl get statefulsets -A; or kubectl -n prod get pvc",
		"kubectl dbop list -A shows all clusters":                           "kubectl dbop list -A shows all clusters",
		"kubectl dbop list":                                                 "kubectl dbop -n prod list",
		"kubectl dbop check --repository pvc:x":                             "kubectl dbop -n prod check --repository pvc:x",
		"kubectl dbop operator install":                                     "kubectl dbop operator install",
		"install one: kubectl dbop operator install; or name its namespace": "install one: kubectl dbop operator install; or name its namespace",
		"kubectl dbop operator adopt my-db":                                 "kubectl dbop -n prod operator adopt my-db",
		"kubectl dbop engines -o wide lists the images":                     "kubectl dbop engines -o wide lists the images",
		"kubectl dbop restore --help":                                       "kubectl dbop restore --help",
		"usage: kubectl dbop status [NAME] [flags]":                         "usage: kubectl dbop status [NAME] [flags]",
		"kubectl get nodes":                                                 "kubectl get nodes",
		"kubectl describe node n1":                                          "kubectl describe node n1",
		"kubectl delete node n1":                                            "kubectl delete node n1",
		"kubectl get node/n1":                                               "kubectl get node/n1",
		"kubectl get storageclasses":                                        "kubectl get storageclasses",
		"kubectl get crd certificaterequests.cert-manager.io":               "kubectl get crd certificaterequests.cert-manager.io",
		"kubectl create namespace shop":                                     "kubectl create namespace shop",
		"kubectl apply -f install.yaml":                                     "kubectl apply -f install.yaml",
		"kubectl logs -f my-db-1-0":                                         "kubectl -n prod logs -f my-db-1-0",
		"kubectl auth whoami":                                               "kubectl auth whoami",
		"kubectl auth can-i --list shows what you may do":                   "kubectl -n prod auth can-i --list shows what you may do",
		"kubectl config get-contexts":                                       "kubectl config get-contexts",
		"kubectl finds 2 programs of this name and runs /bin/kubectl-dbop":  "kubectl finds 2 programs of this name and runs /bin/kubectl-dbop",
		"as kubectl does, and /usr/bin/kubectl get pods":                    "as kubectl does, and /usr/bin/kubectl get pods",
		"continue it: kubectl dbop resume a; or step back: 'kubectl dbop cancel a'": "continue it: kubectl dbop -n prod resume a; " +
			"or step back: 'kubectl dbop -n prod cancel a'",
		"kubectl dbop connect db -- get -n": "kubectl dbop -n prod connect db -- get -n",
		"kubectl dbop backup a, kubectl dbop restore b -n shop, then kubectl dbop status b": "kubectl dbop -n prod backup a, " +
			"kubectl dbop restore b -n shop, then kubectl dbop -n prod status b",
		"kubectl dbop --context c -n shop status x":  "kubectl dbop --context c -n shop status x",
		"kubectl --context c describe node n1":       "kubectl --context c describe node n1",
		"no secret of user x (kubectl get secret x)": "no secret of user x (kubectl -n prod get secret x)",
	} {
		got := InNamespace(text, "prod")
		if got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
		if again := InNamespace(got, "other"); again != got {
			t.Errorf("%q: the second call made %q of it", got, again)
		}
		if InNamespace(text, "") != text {
			t.Errorf("%q changes without a namespace", text)
		}
	}
}

func TestWithFlag(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kubectl dbop -n prod status db; or kubectl get nodes": "kubectl dbop --context c -n prod status db; or kubectl --context c get nodes",
		"kubectl dbop --context other status db":               "kubectl dbop --context other status db",
		"kubectl finds two":                                    "kubectl finds two",
	} {
		if got := WithFlag(text, "--context", "c"); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

func FuzzInNamespace(f *testing.F) {
	f.Add("kubectl dbop status db2; or kubectl get pods -n x", "prod")
	f.Add("'kubectl dbop", "a")
	f.Fuzz(func(t *testing.T, text, namespace string) {
		if strings.ContainsAny(namespace, " \n") || strings.TrimRight(namespace, ",;:.'`)") != namespace || strings.HasPrefix(namespace, "-") {
			t.Skip("no name of a namespace")
		}
		once := InNamespace(text, namespace)
		if again := InNamespace(once, namespace); again != once {
			t.Errorf("%q: once %q, twice %q", text, once, again)
		}
	})
}
