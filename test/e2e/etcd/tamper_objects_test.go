//go:build e2e

package etcd

// tampered is one object that the tool makes, and what somebody does to it.
type tampered struct {
	// title is the object in the table of docs/reliability.md.
	title string
	// kind and name, as kubectl takes them.
	kind, name string
	// edits are merge patches by what they change.
	edits map[string]string
	// silent objects are of no use to a cluster at rest: nobody has to be told, and nothing has to be mended.
	silent bool
	// replaced objects can't come back: their member is replaced.
	replaced bool
	// relogin: clients must read their secret again once it is mended.
	relogin bool
	// driver, if set, is the only one with such an object.
	driver string
	// short says that the short form chooses from it.
	short bool
	// undeletable: its deletion by hand is a person's wish, which is another test.
	undeletable bool
}

// tamperedMember is the member whose objects are touched: any of three will do.
const tamperedMember = "my-db-2"

// anotherSelector takes all pods away from a service.
const anotherSelector = `{"spec":{"selector":{"example.com/tampered":"yes"}}}`

// notACertificate and wrongPassword are base64 of what they say.
const (
	notACertificate = `{"data":{"tls.crt":"bm90IGEgY2VydGlmaWNhdGU="}}`
	wrongPassword   = `{"data":{"password":"d3JvbmctcGFzc3dvcmQ="}}`
)

// tamperedObjects are all objects of a cluster of three with TLS, authentication and a schedule.
func tamperedObjects() []tampered {
	certificate := map[string]string{"certificate": notACertificate}
	password := map[string]string{"password": wrongPassword}
	return []tampered{
		{title: "record of the cluster", kind: "configmap", name: "my-db.dbop", edits: map[string]string{"content": `{"data":{"cluster.json":"{}"}}`}},
		{title: "record of an operation", kind: "configmap", name: operationRecord, edits: map[string]string{"content": `{"data":{"operation.json":"{}"}}`}, silent: true},
		{title: "headless service", kind: "service", name: "my-db", edits: map[string]string{"selector": anotherSelector},
			short: true},
		{title: "client service", kind: "service", name: "my-db-client",
			edits: map[string]string{"selector": anotherSelector}, short: true},
		{title: "StatefulSet", kind: "statefulset", name: tamperedMember, edits: map[string]string{
			"image":        `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"etcd"}],"containers":[{"name":"etcd","image":"example.com/another:v1"}]}}}}`,
			"two replicas": `{"spec":{"replicas":2}}`, "no replica": `{"spec":{"replicas":0}}`}, short: true},
		{title: "PodDisruptionBudget", kind: "poddisruptionbudget", name: "my-db", edits: map[string]string{"minimum": `{"spec":{"minAvailable":0}}`}, short: true},
		{title: "authority", kind: "secret", name: "my-db-ca", edits: certificate, relogin: true},
		{title: "administrator's certificate", kind: "secret", name: "my-db-admin-tls", edits: certificate},
		{title: "clients' certificate", kind: "secret", name: "my-db-client-tls", edits: certificate, relogin: true},
		{title: "member's certificate", kind: "secret", name: tamperedMember + "-tls", edits: certificate},
		{title: "administrator's password", kind: "secret", name: "my-db-root", edits: password},
		{title: "clients' password", kind: "secret", name: "my-db-user-client", edits: password},
		{title: "volume claim", kind: "persistentvolumeclaim", name: tamperedMember, edits: map[string]string{"token": `{"metadata":{"annotations":{"dbop.dev/token":"another"}}}`}, replaced: true},
		{title: "CronJob", kind: "cronjob", name: "my-db-backup", edits: map[string]string{"schedule": `{"spec":{"schedule":"0 0 31 2 *"}}`}},
		{title: "ServiceAccount of the schedule", kind: "serviceaccount", name: "my-db-backup"},
		{title: "Role of the schedule", kind: "role", name: "my-db-backup", edits: map[string]string{"rules": `{"rules":[]}`}},
		{title: "RoleBinding of the schedule", kind: "rolebinding", name: "my-db-backup", edits: map[string]string{"subjects": `{"subjects":[]}`}},
		{title: "lease", kind: "lease", name: "my-db.dbop", edits: map[string]string{"holder": `{"spec":{"holderIdentity":"somebody-else"}}`}, silent: true},
		{title: "custom resource", kind: "databasecluster", name: "my-db", edits: map[string]string{"finalizers": `{"metadata":{"finalizers":null}}`},
			silent: true, driver: byOperator, undeletable: true},
	}
}

// operationRecord means the record of the newest operation, whose name holds the time.
const operationRecord = "newest operation"
