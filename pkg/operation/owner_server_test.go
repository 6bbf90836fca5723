// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// owner is what the process that is to die in the middle of a hand-over must know.
type owner struct {
	Members, Sentinels []string
	Monitor, DieAt     string
}

const ownerEnv = "VALKEYKUBE_TEST_OWNER"

// killOwnerAt has another process begin a hand-over and die, like from SIGKILL, when the step begins.
func killOwnerAt(t *testing.T, set *valkeytest.Set, step string) {
	t.Helper()
	task := owner{Monitor: set.Monitor, DieAt: step}
	for _, node := range set.Nodes {
		task.Members = append(task.Members, node.Address.String())
	}
	for _, sentinel := range set.Sentinels {
		task.Sentinels = append(task.Sentinels, sentinel.Address.String())
	}
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-test.run=^TestMain$")
	command.Env = append(os.Environ(), ownerEnv+"="+string(text))
	output, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != diedAsTold {
		t.Fatalf("the owner ended with %v: %s", err, output)
	}
}

const diedAsTold = 42

func TestMain(m *testing.M) {
	if text := os.Getenv(ownerEnv); text != "" {
		os.Exit(own(text))
	}
	os.Exit(m.Run())
}

func own(text string) int {
	var task owner
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return 1
	}
	var s inspect.Subject
	for i, address := range task.Members {
		target := valkeyclient.Target{Name: "node-" + string(rune('0'+i)), Address: address, Credentials: credentials(naming.UserOperator)}
		s.Members = append(s.Members, inspect.Member{Target: target})
	}
	for _, address := range task.Sentinels {
		s.Sentinels = append(s.Sentinels, valkeyclient.Target{Name: address, Address: address, Credentials: credentials(naming.UserOperator)})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	failover := operation.Failover{Clients: valkeyclient.New(valkeyclient.Options{}), Announce: func(step string) {
		if step == task.DieAt {
			os.Exit(diedAsTold) // nothing is undone
		}
	}}
	_, err := failover.Do(ctx, s, operation.Request{Monitor: task.Monitor})
	_, _ = os.Stdout.WriteString("not killed: " + errText(err))
	return 0
}

func errText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
