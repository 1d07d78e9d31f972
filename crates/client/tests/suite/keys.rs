//! Keys: their form, what they do not show, and what is refused.

use limiter_client::{HashTag, KeySpace, SafeSubject, Secret, Subject};

fn secret() -> Secret {
    Secret::new("0123456789abcdef").unwrap()
}

fn keys() -> KeySpace {
    KeySpace::new("prod", "checkout", &secret()).unwrap()
}

#[test]
fn a_key_names_where_it_belongs() {
    let key = keys().key("orders", &Subject::safe("user", &42_u64)).unwrap();
    assert_eq!(key.as_bytes(), b"rl:prod:checkout:orders:user:42");
    let key = keys().key("orders", &Subject::constant("scope", "all")).unwrap();
    assert_eq!(key.to_string(), "rl:prod:checkout:orders:scope:all");
}

#[test]
fn a_digest_is_one_that_other_languages_make() {
    // python3 -c "import hmac; print(hmac.digest(b'0123456789abcdef', b'email:ada@example.org', 'sha256')[:16].hex())"
    let key = keys().key("login", &Subject::hashed("email", "ada@example.org")).unwrap();
    assert_eq!(key.to_string(), "rl:prod:checkout:login:email:c92c722f68291bc0de9baae6b46cf3a6");
    // What the snippets of examples/clients make, which the module's tests compare with this too.
    let secret = Secret::new("thirty-two random bytes, not this").unwrap();
    let shop = KeySpace::new("prod", "shop", &secret).unwrap();
    let key = shop.key("api", &Subject::hashed("user", "42")).unwrap();
    assert_eq!(key.to_string(), "rl:prod:shop:api:user:fbc823c14963c168bb2bb91ddec63e78");
}

#[test]
fn a_digest_depends_on_the_secret_the_type_and_the_value() {
    let of = |keys: &KeySpace, kind, value: &str| keys.key("l", &Subject::hashed(kind, value)).unwrap().to_string();
    let digest = |key: String| key.rsplit(':').next().unwrap().to_owned();
    let here = digest(of(&keys(), "email", "a"));
    assert_eq!(here, digest(of(&keys(), "email", "a")));
    assert_ne!(here, digest(of(&keys(), "email", "b")));
    // The same text as another type of subject cannot be recognised.
    assert_ne!(here, digest(of(&keys(), "name", "a")));
    let other = KeySpace::new("prod", "checkout", &Secret::new("fedcba9876543210").unwrap()).unwrap();
    assert_ne!(here, digest(of(&other, "email", "a")));
}

#[test]
fn nothing_shows_the_subject_or_the_secret() {
    let subject = Subject::hashed("email", "ada@example.org");
    let shown = format!("{subject:?} {:?} {:?}", keys(), secret());
    assert!(!shown.contains("ada") && !shown.contains("0123456789abcdef"), "{shown}");
    let error = keys().key("l", &Subject::safe("email", &Address)).unwrap_err().to_string();
    assert!(!error.contains("ada"), "{error}");
}

/// Somebody has called an address safe.
struct Address;

impl SafeSubject for Address {}
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ada@example.org")
    }
}

#[test]
fn parts_that_are_empty_long_or_strange_are_refused() {
    let long = "a".repeat(65);
    for wrong in ["", long.as_str(), "a:b", "a b", "{a}", "a\n", "a@b", "ä", "a*"] {
        assert!(KeySpace::new(wrong, "s", &secret()).is_err(), "{wrong}");
        assert!(KeySpace::new("e", wrong, &secret()).is_err(), "{wrong}");
        assert!(keys().key(wrong, &Subject::safe("user", &1)).is_err(), "{wrong}");
        assert!(keys().key("l", &Subject::safe(wrong, &1)).is_err(), "{wrong}");
    }
    assert!(KeySpace::new(&"a".repeat(64), "A-1_b.c", &secret()).is_ok());
    assert!(keys().key("l", &Subject::constant("scope", "")).is_err());
    assert!(keys().key("l", &Subject::constant("scope", "a:b")).is_err());
    assert!(keys().key("l", &Subject::hashed("email", "")).is_err());
    assert!(keys().key("l", &Subject::hashed("email", &vec![0; 4_097])).is_err());
    assert!(keys().key("l", &Subject::hashed("email", &vec![0; 4_096])).is_ok());
    assert!(Secret::new("0123456789abcde").is_err());
}

#[test]
fn a_key_is_bounded() {
    let part = "a".repeat(64);
    let keys = KeySpace::new(&part, &part, &secret()).unwrap().hash_tag(HashTag::Subject);
    let bytes = vec![7; 4_096];
    let (outer, inner) = (Subject::hashed(&part, &bytes), Subject::hashed(&part, &bytes));
    assert_eq!(keys.key(&part, &inner.within(&outer)).unwrap().as_bytes().len(), 3 + 4 * 65 + 2 + 32 + 1 + 32);
}

#[test]
fn a_hash_tag_says_where_a_key_lives() {
    let (tenant, user) = (Subject::safe("tenant", &7), Subject::safe("user", &42));
    let inner = user.within(&tenant);
    let key = |tag, subject| keys().hash_tag(tag).key("orders", subject).unwrap().to_string();
    assert_eq!(key(HashTag::None, &inner), "rl:prod:checkout:orders:user:7/42");
    assert_eq!(key(HashTag::Subject, &user), "rl:prod:checkout:orders:user:{42}");
    assert_eq!(key(HashTag::Subject, &tenant), "rl:prod:checkout:orders:tenant:{7}");
    assert_eq!(key(HashTag::Subject, &inner), "rl:prod:checkout:orders:user:{7}/42");
    assert_eq!(key(HashTag::Service, &inner), "rl:prod:{checkout}:orders:user:7/42");
    // The last one counts.
    let keys = keys().hash_tag(HashTag::Service).hash_tag(HashTag::None);
    assert_eq!(keys.key("l", &user).unwrap().to_string(), "rl:prod:checkout:l:user:42");
}
