package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// identity holds the credentials of the administrator.
type identity struct {
	ca         []byte
	client     tls.Certificate
	kubeconfig []byte
}

// writeIdentity writes all secrets into folder: a certificate authority, the server's and the administrator's
// certificates, the key of service accounts, a token, and a kubeconfig of the administrator with certificate and token.
func writeIdentity(folder, server string) (identity, error) {
	write := func(name string, data []byte) error {
		return os.WriteFile(filepath.Join(folder, name), data, 0o600)
	}
	var none identity
	authority, err := newAuthority()
	if err != nil {
		return none, err
	}
	serverCert, serverKey, err := authority.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return none, err
	}
	adminCert, adminKey, err := authority.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return none, err
	}
	_, accountsKey, err := authority.issue(x509.Certificate{Subject: pkix.Name{CommonName: "service-accounts"}})
	if err != nil {
		return none, err
	}
	secret := make([]byte, 16)
	rand.Read(secret)
	token := hex.EncodeToString(secret)
	kubeconfig := kubeconfig(server, authority.pem, adminCert, adminKey, token)
	for name, data := range map[string][]byte{
		"ca.crt":               authority.pem,
		"server.crt":           serverCert,
		"server.key":           serverKey,
		"service-accounts.key": accountsKey,
		"tokens.csv":           []byte(token + `,token-admin,token-admin,"system:masters"` + "\n"),
		"kubeconfig":           kubeconfig,
	} {
		if err := write(name, data); err != nil {
			return none, err
		}
	}
	client, err := tls.X509KeyPair(adminCert, adminKey)
	return identity{ca: authority.pem, client: client, kubeconfig: kubeconfig}, err
}

// kubeconfig has two contexts: "certificate", the current one, and "token".
func kubeconfig(server string, ca, cert, key []byte, token string) []byte {
	data := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: certificate
clusters:
- name: cluster
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: certificate
  user:
    client-certificate-data: %s
    client-key-data: %s
- name: token
  user:
    token: %s
contexts:
- name: certificate
  context: {cluster: cluster, user: certificate, namespace: default}
- name: token
  context: {cluster: cluster, user: token, namespace: default}
`, server, data(ca), data(cert), data(key), token)
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

const lifetime = 7 * 24 * time.Hour

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "pilothouse-tests"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// issue completes and signs template, for a new key.
func (a *authority) issue(template x509.Certificate) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, nil, err
	}
	template.NotBefore, template.NotAfter = a.cert.NotBefore, a.cert.NotAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", encoded), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
