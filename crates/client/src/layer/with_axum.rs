//! Refusals and tabs in axum's handlers.

use axum_core::{
    body::Body,
    extract::{FromRequestParts, OptionalFromRequestParts},
    response::{IntoResponse, Response},
};
use http::{StatusCode, request::Parts};
use std::convert::Infallible;

use super::{Refusal, Tab};

/// For handlers that check a limit themselves, as a guard of logins does that finds the account in the body.
impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        Self::into_response::<Body>(self)
    }
}

/// The tab of the request. Without a layer that [keeps one](super::RateLimitLayer::keep_tab) the answer is 500.
impl<State: Send + Sync> FromRequestParts<State> for Tab {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &State) -> Result<Self, Self::Rejection> {
        let missing = (StatusCode::INTERNAL_SERVER_ERROR, "no layer in front keeps a tab");
        parts.extensions.get::<Self>().cloned().ok_or(missing)
    }
}

/// The tab of the request, if there is one: exempt requests have none.
impl<State: Send + Sync> OptionalFromRequestParts<State> for Tab {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &State) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
