// Certificates made for one test. Only for tests that link OpenSSL.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <string>

namespace tapml::testing {

struct CertificateOptions {
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";  // in the syntax of openssl.cnf
  long valid_from = -3600, valid_until = 3600;              // seconds from now
};

// A root, and certificates that it signs.
class Authority {
 public:
  explicit Authority(const std::string& name) : key_(new_key()) {
    certificate_ = make(name, key_.get(), {.names = ""}, nullptr);
  }

  // Writes the root's certificate.
  void write_root(const std::string& file) const { write(file, certificate_.get(), nullptr); }
  // Writes a server's certificate and its key.
  void issue(const std::string& certificate_file, const std::string& key_file,
             const CertificateOptions& options = {}) const {
    const Key key = new_key();
    const auto certificate = make("server", key.get(), options, this);
    write(certificate_file, certificate.get(), nullptr);
    write(key_file, nullptr, key.get());
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
  using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

  static Key new_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

  static void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
    X509V3_CTX context = {};
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
    ASSERT_NE(extension, nullptr) << value;
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  static Certificate make(const std::string& name, EVP_PKEY* key, const CertificateOptions& options,
                          const Authority* issuer) {
    static long serial = 0;
    Certificate certificate(X509_new(), X509_free);
    X509* x = certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x), options.valid_from);
    X509_gmtime_adj(X509_getm_notAfter(x), options.valid_until);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509* vouches = issuer ? issuer->certificate_.get() : x;
    X509_set_issuer_name(x, X509_get_subject_name(vouches));
    extend(x, vouches, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
    if (!options.names.empty()) extend(x, vouches, NID_subject_alt_name, options.names);
    EXPECT_NE(X509_sign(x, issuer ? issuer->key_.get() : key, EVP_sha256()), 0);
    return certificate;
  }

  static void write(const std::string& file, X509* certificate, EVP_PKEY* key) {
    const std::unique_ptr<FILE, int (*)(FILE*)> out(std::fopen(file.c_str(), "w"), std::fclose);
    ASSERT_TRUE(out) << file;
    if (certificate) PEM_write_X509(out.get(), certificate);
    if (key) PEM_write_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  }

  Key key_;
  Certificate certificate_{nullptr, X509_free};
};

}  // namespace tapml::testing
