package packages

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/e2e/capture"
)

// TestImageRunsUnprivilegedWithHealthCheck: its files in a folder, its command as its
// user, its health check beside it.
func TestImageRunsUnprivilegedWithHealthCheck(t *testing.T) {
	image := one(t, release(t), "*_image.tar")
	needsRoot(t)
	layout, root := filepath.Join(folder, "layout"), filepath.Join(folder, "image")
	for _, name := range []string{layout, root} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, layout, "tar", "-xf", image)
	var loads []struct {
		Config string
		Layers []string
	}
	decode(t, filepath.Join(layout, "manifest.json"), &loads)
	var c struct {
		Config struct {
			User            string
			Env             []string
			Entrypoint, Cmd []string
			WorkingDir      string
			Healthcheck     struct{ Test []string }
		}
	}
	decode(t, filepath.Join(layout, loads[0].Config), &c)
	run(t, root, "tar", "-xpf", filepath.Join(layout, loads[0].Layers[0]), "--same-owner")
	// What a container engine mounts there.
	if err := os.WriteFile(filepath.Join(root, "etc/hosts"), []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	port := addr[strings.LastIndex(addr, ":")+1:]
	ids := strings.Split(c.Config.User, ":")
	uid, err := strconv.ParseUint(ids[0], 10, 32)
	if err != nil || uid == 0 {
		t.Fatalf("user %q: %v", c.Config.User, err)
	}
	in := func(command ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
		cmd.Dir, cmd.Env = c.Config.WorkingDir, append(c.Config.Env, "SERVER_PORT="+port)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		return cmd
	}
	healthy := func() error { return in(c.Config.Healthcheck.Test[1:]...).Run() }
	if healthy() == nil {
		t.Error("it is healthy before it runs")
	}
	said := &capture.Buffer{}
	serve := in(append(c.Config.Entrypoint, c.Config.Cmd...)...)
	serve.Stdout, serve.Stderr = said, said
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill() })
	await(t, addr, time.Minute, said)
	if err := healthy(); err != nil {
		t.Errorf("the health check: %v", err)
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	if healthy() == nil {
		t.Error("it is healthy after its end")
	}
	for _, name := range []string{"data/postern.db", "data/secrets.json"} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != uint32(uid) {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

func decode(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestPodmanTakesTheImage under its name and version.
func TestPodmanTakesTheImage(t *testing.T) {
	image := one(t, release(t), "*_image.tar")
	podman := needs(t, "podman")
	store := filepath.Join(folder, "podman")
	do := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), podman, append([]string{"--root", store, "--runroot", store + "-run", "--storage-driver", "vfs"}, args...)...)
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("podman %v: %v\n%s", args, err, said.Bytes())
		}
		return out.Bytes()
	}
	do("load", "--input", image)
	var found []struct {
		RepoTags []string
		User     string
		Config   struct {
			Entrypoint, Cmd []string
			Volumes         map[string]any
		}
	}
	if err := json.Unmarshal(do("image", "inspect", "postern:1.2.3"), &found); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].User != "65532:65532" || found[0].Config.Entrypoint[0] != "/usr/bin/postern" || len(found[0].Config.Volumes) != 1 {
		t.Errorf("%+v", found)
	}
}
