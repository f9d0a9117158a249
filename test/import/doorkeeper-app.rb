# A Rails app with Doorkeeper: runs Doorkeeper's own migration in the database of its argument, registers applications and
# issues tokens with its models, and prints what the clients know as JSON.

require 'json'
require 'erb'
require 'bcrypt'
require 'rails'
require 'active_record'
require 'doorkeeper'

ActiveRecord::Base.establish_connection(ARGV.fetch(0))
ActiveRecord::Migration.verbose = false

gem = Gem.loaded_specs['doorkeeper'] || Gem::Specification.find_by_name('doorkeeper')
template = File.read("#{gem.full_gem_path}/lib/generators/doorkeeper/templates/migration.rb.erb")
migration_version = "[#{ActiveRecord::VERSION::MAJOR}.#{ActiveRecord::VERSION::MINOR}]"
eval ERB.new(template).result(binding)
CreateDoorkeeperTables.new.change

# Configured again for each way to store secrets and tokens.
def configure(storing = nil)
  Doorkeeper.configure do
    orm :active_record
    use_refresh_token
    force_ssl_in_redirect_uri false
    hash_application_secrets(using: "::Doorkeeper::SecretStoring::#{storing}") if storing
    hash_token_secrets if storing == 'Sha256Hash'
  end
end

def register(name, redirect_uri, **more)
  Doorkeeper::Application.create!(name: name, redirect_uri: redirect_uri, scopes: 'read write', **more)
end

def issue(application, user, **more)
  given = { scopes: 'read', expires_in: 3600, use_refresh_token: true, **more }
  Doorkeeper::AccessToken.create_for(application: application, resource_owner: user, **given)
end

def known(application)
  { client_id: application.uid, client_secret: application.plaintext_secret }
end

answer = {}
[[:plain, nil], [:sha256, 'Sha256Hash'], [:bcrypt, 'BCrypt']].each do |name, storing|
  configure(storing)
  application = register(name.to_s, "https://#{name}.example.com/cb\nhttps://#{name}.example.com/cb2")
  token = issue(application, 1)
  answer[name] = known(application).merge(refresh_token: token.plaintext_refresh_token)
end

configure
phone = register('phone', 'com.example.phone:/cb', confidential: false)
revoked = issue(phone, 1)
revoked.revoke
answer[:phone] = known(phone).merge(revoked: revoked.plaintext_refresh_token)
answer[:mixed] = known(register('mixed', "http://mixed.example.com/cb\nhttps://mixed.example.com/cb"))
answer[:http] = known(register('http', 'http://http.example.com/cb'))
puts JSON.generate(answer)
