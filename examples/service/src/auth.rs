//! Who is calling. A real service asks an identity provider here, which is dear: one more reason to limit by address first.

use axum::{
    extract::Request,
    http::{StatusCode, header::AUTHORIZATION},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

/// A user that has shown a token.
#[derive(Clone, Copy)]
pub struct User {
    pub id: u64,
    pub name: &'static str,
}

const USERS: [(&str, User); 2] =
    [("token-of-ada", User { id: 1, name: "Ada" }), ("token-of-grace", User { id: 2, name: "Grace" })];

/// Lets in who has a token, and leaves the [`User`] in the request's extensions.
pub async fn authenticate(mut request: Request, next: Next) -> Response {
    let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let user = token.and_then(|token| USERS.iter().find(|(known, _)| *known == token));
    match user {
        Some((_, user)) => {
            request.extensions_mut().insert(*user);
            next.run(request).await
        }
        None => (StatusCode::UNAUTHORIZED, "Authorization: Bearer token-of-ada\n").into_response(),
    }
}
