# Signs in with OmniAuth, as middleware of a Rack app. Reads its settings and the redirect of the browser from standard
# input, one line each.

require 'json'
require 'rack'
require 'omniauth'
require 'omniauth_openid_connect'

$stdout.sync = true

def say(value)
  puts JSON.generate(value)
end

def hear
  JSON.parse($stdin.gets)
end

settings = hear
# Only tests and development use http: the library looks for the metadata over https otherwise.
SWD.url_builder = URI::HTTP
# The requests below have no CSRF token of a form.
OmniAuth.config.request_validation_phase = nil
OmniAuth.config.on_failure = ->(env) { raise env['omniauth.error'] }
OmniAuth.config.logger = Logger.new($stderr)

app = Rack::Builder.app do
  use Rack::Session::Cookie, secret: 'a secret of the app that has more than sixty-four characters, as Rack wants it'
  use OmniAuth::Strategies::OpenIDConnect,
      issuer: settings['issuer'],
      discovery: true,
      scope: %i[openid profile email],
      post_logout_redirect_uri: settings['post_logout_redirect_uri'],
      client_options: {
        identifier: settings['client_id'],
        secret: settings['client_secret'],
        redirect_uri: settings['redirect_uri']
      }
  run ->(env) { [200, {}, [JSON.generate(env['omniauth.auth'])]] }
end
browser = Rack::MockRequest.new(app)

started = browser.post('/auth/openid_connect')
say started['Location']

cookie = started['Set-Cookie'].split(';').first
query = URI(hear).query
signed_in = browser.get("/auth/openid_connect/callback?#{query}", 'HTTP_COOKIE' => cookie)
auth = JSON.parse(signed_in.body)
sign_out = browser.get('/auth/openid_connect/logout')
say(subject: auth['uid'], info: auth['info'], userinfo: auth['extra']['raw_info'], sign_out: sign_out['Location'])
