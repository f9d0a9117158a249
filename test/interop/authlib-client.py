"""Signs in with Authlib. Reads its settings and the redirect of the browser from standard input, one line each."""

import json
import os
import sys

os.environ['AUTHLIB_INSECURE_TRANSPORT'] = '1'

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from authlib.oidc.core import CodeIDToken


def say(value):
    print(json.dumps(value), flush=True)


def hear():
    return json.loads(sys.stdin.readline())


settings = hear()
issuer, method = settings['issuer'], settings['method']
metadata = requests.get(f'{issuer}/.well-known/openid-configuration').json()
session = OAuth2Session(
    settings['client_id'],
    settings['client_secret'],
    scope=settings.get('scope', 'openid profile email offline_access'),
    redirect_uri=settings['redirect_uri'],
    token_endpoint_auth_method=method,
    revocation_endpoint_auth_method=method,
    code_challenge_method='S256',
)
if method == 'private_key_jwt':
    session.register_client_auth_method(PrivateKeyJWT(metadata['token_endpoint']))

verifier, nonce = generate_token(48), generate_token()
url, state = session.create_authorization_url(
    metadata['authorization_endpoint'], code_verifier=verifier, nonce=nonce
)
say(url)

token = session.fetch_token(
    metadata['token_endpoint'], authorization_response=hear(), state=state, code_verifier=verifier
)
keys = JsonWebKey.import_key_set(requests.get(metadata['jwks_uri']).json())
expected = {'iss': {'values': [issuer]}, 'aud': {'values': [settings['client_id']]}}
params = {'nonce': nonce, 'client_id': settings['client_id'], 'access_token': token['access_token']}
claims = jwt.decode(token['id_token'], keys, CodeIDToken, claims_options=expected, claims_params=params)
claims.validate()
userinfo = session.get(metadata['userinfo_endpoint']).json()

refreshed = session.refresh_token(metadata['token_endpoint'], refresh_token=token['refresh_token'])
revoked = session.revoke_token(
    metadata['revocation_endpoint'], refreshed['refresh_token'], token_type_hint='refresh_token'
)
after = requests.get(
    metadata['userinfo_endpoint'], headers={'Authorization': f'Bearer {refreshed["access_token"]}'}
)
say({
    'subject': claims['sub'],
    'userinfo': userinfo,
    'details': [answer.get('authorization_details') for answer in (token, refreshed)],
    'revoked': revoked.status_code,
    'after': after.status_code,
})
