package pod

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed/client"
)

// alone configures the agent of a throw-away member: the only one of its group, on its own loopback, without
// certificates.
func alone(in engine.PodInput, d Database) map[string]any {
	listen := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	settings := d.Settings
	settings.Durability = protocol.Async
	return map[string]any{
		"member": in.Member, "token": in.Cluster.Status.Bootstrap.Token, "directory": directory(d),
		"sockets": SocketsPath, "alone": true, "listen": listen(groupPort), "address": listen(groupPort),
		"api": map[string]any{"listen": listen(client.Port)}, d.Key: d.Config, "ballast": 1 << 20,
		"initialMembers": []protocol.InitialMember{{ID: protocol.MemberID(in.Member)}}, "settings": settings,
	}
}
