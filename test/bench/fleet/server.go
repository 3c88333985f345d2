package fleet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// All simulated members listen at one address; each client says by TLS which
// one it means. It is not the loopback that others use, for the port is
// etcd's own, and another one for each fleet that runs.
const (
	network    = "127.64.0."
	networks   = 9
	clientPort = "2379"
)

// server answers for every member that runs, as etcd does: gRPC and HTTP on one port.
type server struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedClusterServer

	databases *databases
	http      *http.Server
	address   string
}

// serve answers until Close.
func serve(d *databases) (*server, error) {
	s := &server{databases: d}
	g := grpc.NewServer()
	pb.RegisterMaintenanceServer(g, s)
	pb.RegisterClusterServer(g, s)
	// handshakes that clients give up
	s.http = &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				g.ServeHTTP(w, r)
				return
			}
			s.plain(w, r)
		}),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert,
			GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				if c := d.shows(hello.ServerName); c != nil {
					return c, nil
				}
				return nil, errUnknown
			}}}
	var err error
	for i := range networks {
		s.address = network + strconv.Itoa(i+1)
		var listener net.Listener
		if listener, err = net.Listen("tcp", net.JoinHostPort(s.address, clientPort)); err == nil {
			go func() { _ = s.http.ServeTLS(listener, "", "") }()
			return s, nil
		}
	}
	return nil, fmt.Errorf("listen for members: %w", err)
}

// plain answers what etcd answers over HTTP alone.
func (s *server) plain(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/version" {
		http.Error(w, "authentication is off", http.StatusBadRequest)
		return
	}
	status, err := s.databases.status(r.TLS.ServerName)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	// the client sees it
	_ = json.NewEncoder(w).Encode(map[string]string{"etcdserver": status.Version, "etcdcluster": series(status.Version)})
}

// whom is the host that the client of a request dialled.
func whom(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return ""
	}
	return info.State.ServerName
}

// Status implements etcd's service.
func (s *server) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	return s.databases.status(whom(ctx))
}

// MemberList implements etcd's service.
func (s *server) MemberList(ctx context.Context, _ *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	return s.databases.list(whom(ctx))
}

// MoveLeader implements etcd's service.
func (s *server) MoveLeader(ctx context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	return s.databases.move(whom(ctx), r.TargetID)
}
