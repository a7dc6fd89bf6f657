//! Keys of a role that a token from another identity service opens (EKS, CI systems).
use super::super::Timeouts;
use super::super::wire::Wire;
use super::environment::variable;
use super::metadata::{request, text};
use super::{Credentials, Keys, NoKeys, document};
use bucketlog_s3_presign::HttpRequest;
use std::fs;
use std::time::Instant;
use url::form_urlencoded;

/// `AssumeRoleWithWebIdentity`: the token's file, which is read each time, for keys of a role.
#[derive(Debug)]
pub struct WebIdentity {
    endpoint: String,
    role: String,
    session: String,
    token_file: String,
    wire: Wire,
}

impl WebIdentity {
    /// `AWS_ROLE_ARN`, `AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_SESSION_NAME`, asked at `AWS_ENDPOINT_URL_STS` or at
    /// AWS in `region`; `None` if one of the first two is not set.
    #[must_use]
    pub fn from_environment(region: &str) -> Option<Self> {
        let (role, token_file) = (variable("AWS_ROLE_ARN")?, variable("AWS_WEB_IDENTITY_TOKEN_FILE")?);
        let session = variable("AWS_ROLE_SESSION_NAME");
        let endpoint =
            variable("AWS_ENDPOINT_URL_STS").unwrap_or_else(|| format!("https://sts.{region}.amazonaws.com"));
        Some(Self::at(&endpoint, &role, session.as_deref().unwrap_or("bucketlog"), &token_file))
    }

    /// The service at this endpoint.
    #[must_use]
    pub fn at(endpoint: &str, role: &str, session: &str, token_file: &str) -> Self {
        let wire = Wire::new(Timeouts::default(), endpoint.starts_with("https:"));
        let endpoint = format!("{}/", endpoint.trim_end_matches('/'));
        Self { endpoint, role: role.to_owned(), session: session.to_owned(), token_file: token_file.to_owned(), wire }
    }
}

impl Credentials for WebIdentity {
    fn keys(&self, until: Instant) -> Result<Option<Keys>, NoKeys> {
        let token = fs::read_to_string(&self.token_file);
        let token = token.map_err(|error| NoKeys(format!("{}: {error}", self.token_file)))?;
        // The token goes into the body, where no proxy logs it.
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", "AssumeRoleWithWebIdentity")
            .append_pair("Version", "2011-06-15")
            .append_pair("RoleArn", &self.role)
            .append_pair("RoleSessionName", &self.session)
            .append_pair("WebIdentityToken", token.trim())
            .finish();
        let headers = vec![("content-type", "application/x-www-form-urlencoded".to_owned())];
        let sent = HttpRequest { body: vec![form.into()], ..request("POST", self.endpoint.clone(), headers) };
        keys(&text(&self.wire, &sent, until)?).map(Some)
    }
}

fn keys(xml: &str) -> Result<Keys, NoKeys> {
    let need = |name| element(xml, name).ok_or_else(|| NoKeys("the service gave something other than keys".to_owned()));
    let expires = need("Expiration")?.parse::<jiff02::Timestamp>();
    Ok(Keys {
        access_key: need("AccessKeyId")?.to_owned(),
        secret_key: need("SecretAccessKey")?.to_owned(),
        session_token: Some(need("SessionToken")?.to_owned()),
        expires: expires.ok().map(|at| document::time(at.as_millisecond())),
    })
}

/// Text of the first element of that name; keys and times have no character that XML would escape.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once('<').map(|(text, _)| text.trim())
}
