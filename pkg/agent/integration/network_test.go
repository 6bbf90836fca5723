// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

const envInside = "VALKEYKUBE_TEST_INSIDE"

// inside runs the test in a network and a mount namespace of its own, where port 53 is free and /etc/resolv.conf can be another
// for each process. It returns true there; outside it reports how it went.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envInside) != "" {
		loopbackUp(t)
		return true
	}
	command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "5m")
	command.Env = append(os.Environ(), envInside+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	output, err := command.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Fatal(err)
	}
	return false
}

func loopbackUp(t *testing.T) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		t.Fatal(err)
	}
}

// resolveLocally gives the container the resolv.conf of a pod: it names its own agent, and nobody else.
func (p *pod) resolveLocally() {
	p.put("resolv.conf", "nameserver "+p.address.Host+"\noptions ndots:1\n")
	script := `mount --make-rprivate / && mount --bind "$0" /etc/resolv.conf && exec "$@"`
	p.command.Args = append([]string{"/bin/sh", "-c", script, p.path("resolv.conf")}, p.command.Args...)
	p.command.Path = "/bin/sh"
	p.command.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS
}

// clusterDNS is the cluster's DNS server.
type clusterDNS struct {
	server *dns.Server

	mu    sync.Mutex
	hosts map[string]string
	hangs bool
	asked int
}

const dnsAddress = "127.0.0.53:53"

func startDNS(t *testing.T) *clusterDNS {
	t.Helper()
	packets, err := net.ListenPacket("udp", dnsAddress)
	if err != nil {
		t.Fatal(err)
	}
	d := &clusterDNS{hosts: map[string]string{}}
	d.server = &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(d.answer)}
	started := make(chan struct{})
	d.server.NotifyStartedFunc = func() { close(started) }
	go func() { _ = d.server.ActivateAndServe() }()
	<-started
	t.Cleanup(d.stop)
	return d
}

func (d *clusterDNS) stop() { _ = d.server.Shutdown() }

func (d *clusterDNS) hang(hangs bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hangs = hangs
}

func (d *clusterDNS) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

func (d *clusterDNS) add(pods ...*pod) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range pods {
		d.hosts[p.announced.Host+"."] = p.address.Host
	}
}

func (d *clusterDNS) answer(writer dns.ResponseWriter, request *dns.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.hangs {
		return
	}
	reply := new(dns.Msg).SetReply(request)
	question := request.Question[0]
	address, known := d.hosts[strings.ToLower(question.Name)]
	switch {
	case !known:
		reply.Rcode = dns.RcodeNameError
	case question.Qtype == dns.TypeA:
		header := dns.RR_Header{Name: question.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}
		reply.Answer = append(reply.Answer, &dns.A{Hdr: header, A: net.ParseIP(address)})
	}
	_ = writer.WriteMsg(reply)
}
