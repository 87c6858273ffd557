package notebooks_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
)

// hubConfig configures JupyterHub: TLS, a prefix, and one server, of the user who runs the test, on this folder.
const hubConfig = `
import json, os
told = json.loads(os.environ["SAOT_TEST_HUB"])
c.JupyterHub.bind_url = told["address"]
c.JupyterHub.hub_bind_url = "http://127.0.0.1:%d" % told["hub"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:%d" % told["api"]
c.JupyterHub.ssl_cert, c.JupyterHub.ssl_key = told["certificate"], told["key"]
c.JupyterHub.db_url = "sqlite://"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = told["home"]
c.Spawner.notebook_dir = told["notebooks"]
c.Spawner.args = ["--LabApp.expose_app_in_browser=True", "--allow-root"]
c.Spawner.environment = told["environment"]
c.Spawner.start_timeout = c.Spawner.http_timeout = 120
`

// The live explorer works through JupyterHub's proxy, over HTTPS and below a prefix.
func TestLiveExplorerBehindJupyterHub(t *testing.T) {
	if testing.Short() {
		t.Skip("driving a browser takes a minute: skipped with -short")
	}
	address := hub(t)
	tab := browsertest.Start(t, chromedp.Flag("ignore-certificate-errors", true))
	screenshotOnFailure(tab, t)
	require.NoError(t, chromedp.Do(tab,
		chromedp.Navigate(address+"/hub/login"),
		until(`document.querySelector('#username_input') !== null`),
		script(`document.querySelector('#username_input').value = 'reader',
			document.querySelector('#password_input').value = 'any', document.querySelector('#login_submit').click()`),
	), "log in")
	// Pages follow each other while the server starts, and end a poll that runs in one of them.
	require.Eventually(t, func() bool {
		there, err := chromedp.Run(tab, chromedp.Evaluate[bool](`location.pathname.includes('/user/reader/lab')`))
		return err == nil && there
	}, 3*time.Minute, 200*time.Millisecond, "the reader's server doesn't start")
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(address+"/user/reader/lab/tree/"+live)))
	openPanel(tab, t)
	for _, name := range []string{"ε", "σ"} {
		redrawn(tab, t, name+" to the right", key(name, kb.ArrowRight))
	}
	for _, name := range []string{"step an epoch", "step a task", "step back"} {
		redrawn(tab, t, name, chromedp.Click(button(name)))
	}
	require.NoError(t, chromedp.Do(tab, chromedp.Click(button("keep this picture")),
		until(`!document.querySelector('.saot-panel')`)))
}

// hub starts JupyterHub with a certificate of its own and returns its address, or skips the test.
func hub(t *testing.T) (address string) {
	t.Helper()
	jupyterhub := os.Getenv("SAOT_JUPYTERHUB")
	if jupyterhub == "" {
		jupyterhub, _ = exec.LookPath("jupyterhub")
	}
	if jupyterhub == "" {
		t.Skip("no jupyterhub on PATH and SAOT_JUPYTERHUB is not set: the live notebook is not tried behind a proxy")
	}
	if _, err := exec.LookPath("configurable-http-proxy"); err != nil {
		t.Skip("no configurable-http-proxy on PATH: the live notebook is not tried behind JupyterHub's proxy")
	}
	env := withoutHeadless(kernel(t))
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // the reader's home is new
		folder, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(folder)))
	}
	bin := filepath.Dir(jupyterhub) // with the server that it starts
	for i, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + bin + string(os.PathListSeparator) + path
		}
	}
	dir := t.TempDir()
	folder, err := filepath.Abs(".")
	require.NoError(t, err)
	certificate, key := selfSigned(t, dir)
	address = fmt.Sprintf("https://127.0.0.1:%d/some/prefix", freePort(t))
	told, err := json.Marshal(map[string]any{
		"address": address + "/", "hub": freePort(t), "api": freePort(t), "certificate": certificate, "key": key,
		"home": filepath.Join(dir, "home"), "notebooks": folder, "environment": variables(env),
	})
	require.NoError(t, err)
	config := filepath.Join(dir, "jupyterhub_config.py")
	require.NoError(t, os.WriteFile(config, []byte(hubConfig), 0o600))

	running, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(running, jupyterhub, "-f", config)
	server.Dir, server.Env = dir, append(slices.Clone(env), "SAOT_TEST_HUB="+string(told))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	serve(t, stop, server, client, address+"/hub/api")
	return address
}

// variables turns an environment into a map.
func variables(env []string) map[string]string {
	all := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	return all
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().(*net.TCPAddr).Port
}

// selfSigned writes a certificate for this machine that nobody has signed, and its key.
func selfSigned(t *testing.T, dir string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	return write("certificate.pem", "CERTIFICATE", signed), write("key.pem", "PRIVATE KEY", secret)
}
