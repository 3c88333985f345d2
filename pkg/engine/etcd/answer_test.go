package etcd

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

// raw is a codec for messages that are bytes already.
type raw struct{}

func (raw) Name() string                         { return "proto" }
func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func message(t *testing.T, m proto.Message) (b []byte) {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hostile is a session with one member, which answers each method as it likes.
func hostile(t *testing.T, serve func(net.Listener)) *client.Session {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = at.Close() })
	go serve(at)
	f := newFleet(t, "my-db", 1)
	access := engine.Access{Cluster: f.cluster, Dial: func(ctx context.Context, _ string, _ int) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", at.Addr().String())
	}}
	s := client.New(access, f.session.At)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// answering serves gRPC with the given answers, by the last word of the method.
func answering(t *testing.T, answers map[string][]byte) func(net.Listener) {
	server := grpc.NewServer(grpc.ForceServerCodecV2(raw{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(stream)
			for {
				if err := stream.SendMsg(answers[method[strings.LastIndex(method, "/")+1:]]); err != nil ||
					!strings.HasSuffix(method, "Snapshot") {
					return err
				}
			}
		}))
	t.Cleanup(server.Stop)
	return func(at net.Listener) { _ = server.Serve(at) }
}

// TestHostileMembersAreBounded asks members that answer with more than etcd ever does.
func TestHostileMembersAreBounded(t *testing.T) {
	long := bytes.Repeat([]byte{0}, 64*flags.Mebibyte)
	status := message(t, &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: 1, ClusterId: 2}, Version: "3.6.0",
		Leader: 1})
	entries := append(message(t, &pb.MemberListResponse{Header: &pb.ResponseHeader{}}),
		bytes.Repeat([]byte{0x12, 0}, 100_000)...)
	for name, serve := range map[string]func(net.Listener){
		"long status":  answering(t, map[string][]byte{"Status": long}),
		"long list":    answering(t, map[string][]byte{"Status": status, "MemberList": long, "Range": long}),
		"many entries": answering(t, map[string][]byte{"Status": status, "MemberList": entries, "Range": entries}),
		"HTTP without an end": func(at net.Listener) {
			_ = http.Serve(at, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for {
					if _, err := w.Write(long[:flags.Mebibyte]); err != nil {
						return
					}
				}
			}))
		},
		"bytes without an end": func(at net.Listener) {
			for {
				c, err := at.Accept()
				if err != nil {
					return
				}
				go func() {
					for err == nil {
						_, err = c.Write(long[:flags.Mebibyte])
					}
				}()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, began := hostile(t, serve), time.Now()
			v := s.Observe(t.Context(), []string{"my-db-1"})
			if v.Quorum || len(v.MemberList) > 0 {
				t.Errorf("believed: %+v", v)
			}
			if took := time.Since(began); took > client.ObserveTimeout+2*time.Second {
				t.Errorf("took %s", took)
			}
			if m := v.Members[0]; m.Reachable && m.Serving {
				t.Errorf("%+v", m)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if found, _ := s.Fingerprint(ctx, "my-db-1"); counted(found, "keys") > 0 {
				t.Errorf("keys were believed: %+v", found)
			}
		})
	}
}

// TestSnapshotMessagesAreBounded streams messages that are longer than any of etcd's.
func TestSnapshotMessagesAreBounded(t *testing.T) {
	s := hostile(t, answering(t, map[string][]byte{"Snapshot": bytes.Repeat([]byte{0}, 64*flags.Mebibyte)}))
	err := s.Snapshot(t.Context(), "my-db-1", new(bytes.Buffer), nil)
	if !client.TooLong(err) {
		t.Error(err)
	}
}

// TestAnswersFitIntoMemory asks a cluster of the largest size, whose members
// answer as much as is taken, and observes how much memory that takes.
func TestAnswersFitIntoMemory(t *testing.T) {
	header := &pb.ResponseHeader{MemberId: 1, ClusterId: 2}
	member := &pb.Member{Name: "my-db-1", PeerURLs: make([]string, client.MostFields-10)}
	pair := &mvccpb.KeyValue{Key: []byte("a"), Value: make([]byte, client.MostPage-100)}
	serve := answering(t, map[string][]byte{
		"Status": message(t, &pb.StatusResponse{Header: header, Version: "3.6.0", Leader: 1,
			Errors: make([]string, client.MostFields-10)}),
		"MemberList": message(t, &pb.MemberListResponse{Header: header, Members: []*pb.Member{member}}),
		"Range":      message(t, &pb.RangeResponse{Header: header, Kvs: []*mvccpb.KeyValue{pair}}),
	})
	var names []string
	for n := 1; n <= maxMembers; n++ {
		names = append(names, v1alpha1.MemberName("my-db", n))
	}
	s := hostile(t, serve)
	for what, ask := range map[string]func(){
		"an observation": func() {
			if v := s.Observe(t.Context(), names); !v.Quorum {
				t.Errorf("the answers were not taken: %+v", v)
			}
		},
		"a page of keys": func() {
			if _, err := s.Fingerprint(t.Context(), "my-db-1"); err != nil {
				t.Error(err)
			}
		},
	} {
		ask() // connects
		if took := peak(ask); took > engine.MostAnswers {
			t.Errorf("%s takes %d MiB", what, took>>20)
		} else {
			t.Logf("%s takes %d KiB", what, took>>10)
		}
	}
}

// peak is how much more memory is in use at a time while something is done.
func peak(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	runtime.GC() // pools are kept for one
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	before, most := sample[0].Value.Uint64(), uint64(0)
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-done:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
	do()
	close(done)
	<-over
	return most - min(most, before)
}

// TestLargeValuesAreRead reads a page whose keys are longer together than an answer may be.
func TestLargeValuesAreRead(t *testing.T) {
	f := newFleet(t, "my-db", 1)
	f.form(series36, "my-db-1")
	value := strings.Repeat("x", flags.Mebibyte)
	for i := range 12 {
		if err := f.put("my-db-1", string(rune('a'+i)), value, ""); err != nil {
			t.Fatal(err)
		}
	}
	found, err := f.session.Fingerprint(t.Context(), "my-db-1")
	if err != nil || counted(found, "keys") != 12 {
		t.Errorf("%+v, %v", found, err)
	}
}
